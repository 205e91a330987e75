/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See versus_job.h.
 */
#include "versus_job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 256, LOOK_MS = 200, GRACE_MS = 5000 };

static void pipe_path(const struct hccl_bench_job *j, int rank, char *path)
{
    if (rank < 0) {
        snprintf(path, PATH_MAX, "%s/%s.out", j->directory, j->name);
    } else {
        snprintf(path, PATH_MAX, "%s/%s.%d", j->directory, j->name, rank);
    }
}

/* Opened for both directions, so that neither side waits for the other to come. */
static int make_pipe(const struct hccl_bench_job *j, int rank)
{
    char path[PATH_MAX];
    int fd = -1;

    pipe_path(j, rank, path);
    if (0 == mkfifo(path, 0600)) {
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    if (fd < 0) {
        fprintf(stderr, "hccl_versus: %s: %s\n", path, strerror(errno));
    }
    return fd;
}

/* Appends the blank-separated words of text; the copies live until the program ends. */
static int add_words(char **words, int used, const char *text)
{
    char *copy = strdup(text), *rest = NULL;

    for (char *w = strtok_r(copy, " ", &rest); NULL != w && used < WORDS - 1;
         w = strtok_r(NULL, " ", &rest)) {
        words[used++] = w;
    }
    return used;
}

static void become_launcher(char **words)
{
    sigset_t none;
    int null = open("/dev/null", O_RDONLY);

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(null, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execvp(words[0], words);
    fprintf(stderr, "hccl_versus: %s: %s\n", words[0], strerror(errno));
    _exit(127);
}

bool hccl_bench_job_start(struct hccl_bench_job *j, const char *directory, char **test_words)
{
    char *words[WORDS] = {NULL}, prefix[128], ranks[16];
    int used = 0;

    snprintf(j->directory, sizeof j->directory, "%s", directory);
    j->commands = calloc((size_t) j->ranks, sizeof *j->commands);
    j->answers = make_pipe(j, -1);
    if (NULL == j->commands || j->answers < 0) {
        return false;
    }
    for (int r = 0; r < j->ranks; r++) {
        j->commands[r] = make_pipe(j, r);
        if (j->commands[r] < 0) {
            return false;
        }
    }
    snprintf(prefix, sizeof prefix, "%s/%s", directory, j->name);
    snprintf(ranks, sizeof ranks, "%d", j->ranks);
    used = add_words(words, used, j->launcher);
    words[used++] = (char *) "-np";
    words[used++] = ranks;
    used = add_words(words, used, j->options);
    words[used++] = (char *) j->program;
    for (; NULL != *test_words && used < WORDS - 3; test_words++) {
        words[used++] = *test_words;
    }
    words[used++] = (char *) "--control";
    words[used++] = prefix;
    j->pid = fork();
    if (0 == j->pid) {
        become_launcher(words);
    }
    if (j->pid < 0) {
        perror("hccl_versus: fork");
        j->pid = 0;
        return false;
    }
    return true;
}

static bool has_ended(struct hccl_bench_job *j)
{
    int status;

    if (0 == j->pid || j->pid != waitpid(j->pid, &status, WNOHANG)) {
        return false;
    }
    j->pid = 0;
    fprintf(stderr, "hccl_versus: %s (%s %s) ended by itself with %s %d\n", j->name, j->launcher,
            j->options, WIFEXITED(status) ? "exit code" : "signal",
            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return true;
}

/* One line of the job's answers, without its end. */
static bool read_line(struct hccl_bench_job *j, char *line, size_t room)
{
    size_t used = 0;
    int waited = 0;

    while (used + 1 < room) {
        struct pollfd p = {.fd = j->answers, .events = POLLIN};
        int ready = poll(&p, 1, LOOK_MS);
        if (ready < 0 && EINTR == errno) {
            return false; /* a signal ends the comparison */
        }
        if (ready <= 0) {
            waited += LOOK_MS;
            if (has_ended(j)) {
                return false;
            }
            if (1000 * j->seconds <= waited) {
                fprintf(stderr, "hccl_versus: %s (%s): no answer within %d s\n", j->name,
                        j->options, j->seconds);
                return false;
            }
            continue;
        }
        if (1 != read(j->answers, line + used, 1)) {
            continue;
        }
        if ('\n' == line[used]) {
            line[used] = '\0';
            return true;
        }
        used++;
    }
    fprintf(stderr, "hccl_versus: %s sent an endless line\n", j->name);
    return false;
}

bool hccl_bench_job_greet(struct hccl_bench_job *j)
{
    char line[512];
    int ranks = 0, length = 0;

    if (!read_line(j, line, sizeof line)) {
        return false;
    }
    if (1 != sscanf(line, "hello %d %n", &ranks, &length) || ranks != j->ranks) {
        fprintf(stderr,
                "hccl_versus: %s started %d ranks instead of %d: is %s the launcher of "
                "%s's MPI?\n",
                j->name, ranks, j->ranks, j->launcher, j->program);
        return false;
    }
    snprintf(j->cpus, sizeof j->cpus, "%s", line + length);
    return true;
}

static void command(struct hccl_bench_job *j, const char *line)
{
    for (int r = 0; r < j->ranks; r++) {
        if ((ssize_t) strlen(line) != write(j->commands[r], line, strlen(line))) {
            perror("hccl_versus: command pipe");
        }
    }
}

bool hccl_bench_job_served(struct hccl_bench_job *j, const char *collective, int mode, char *name,
                           size_t room)
{
    char line[512];

    snprintf(line, sizeof line, "served %s %d\n", collective, mode);
    command(j, line);
    if (!read_line(j, line, sizeof line)) {
        return false;
    }
    snprintf(name, room, "%s", 0 == strncmp(line, "served ", 7) ? line + 7 : "?");
    return true;
}

bool hccl_bench_job_window(struct hccl_bench_job *j, const char *collective, int mode, size_t bytes,
                           struct hccl_bench_answer *a)
{
    char line[512];

    snprintf(line, sizeof line, "%s %d %zu\n", collective, mode, bytes);
    command(j, line);
    if (!read_line(j, line, sizeof line)) {
        return false;
    }
    if (9
        != sscanf(line, "result %ld %ld %lf %lf %lf %lf %lf %lf %lf", &a->iterations, &a->batch,
                  &a->min, &a->p5, &a->median, &a->max, &a->flag_before, &a->flag_after,
                  &a->wrong)) {
        fprintf(stderr, "hccl_versus: %s: %s of %zu bytes: %s\n", j->name, collective, bytes, line);
        return false;
    }
    return true;
}

/* Waits for the launcher's end up to GRACE_MS. */
static bool gone(struct hccl_bench_job *j)
{
    for (int waited = 0; 0 != j->pid && waited < GRACE_MS; waited += 20) {
        if (0 != waitpid(j->pid, NULL, WNOHANG)) {
            j->pid = 0;
            break;
        }
        poll(NULL, 0, 20);
    }
    return 0 == j->pid;
}

void hccl_bench_job_end(struct hccl_bench_job *j)
{
    char path[PATH_MAX];

    if (NULL == j->commands) {
        return;
    }
    command(j, "quit\n");
    if (!gone(j)) {
        kill(j->pid, SIGTERM);
        if (!gone(j)) {
            kill(j->pid, SIGKILL);
            waitpid(j->pid, NULL, 0);
        }
    }
    for (int r = -1; r < j->ranks; r++) {
        pipe_path(j, r, path);
        unlink(path);
        close(r < 0 ? j->answers : j->commands[r]);
    }
    free(j->commands);
    j->commands = NULL;
}
