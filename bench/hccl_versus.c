/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_versus: two jobs of hccl_test, started with different options, measure in turn on the same
 * cores. A plain program without MPI; the jobs may belong to different MPI libraries.
 *
 * In each round both jobs measure one window, in random order; the one that waits has all its ranks
 * asleep in read(2). Ratios are taken within a round. Each window carries the latency of a flag
 * between two of its ranks, read before and after it: a round in which that moved by more than a
 * quarter tells of the machine and not of the components, and is made again.
 */
#include "options.h"
#include "versus_table.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FAILED = 1, BAD_ARGUMENTS = 2 };

static const char usage[] =
    "usage: hccl_versus [options] -- COLLECTIVE[,COLLECTIVE...] [hccl_test options]\n"
    "\n"
    "  -A OPTIONS       mpirun options of side A (default \"--mca coll hccl\")\n"
    "  -B OPTIONS       mpirun options of side B (default \"--mca coll ^hccl\")\n"
    "  -np N            ranks (default: one per core)\n"
    "  --launcher-a L   how to start side A (default mpirun.openmpi, else mpirun); -b likewise\n"
    "  --program-a P    hccl_test of side A (default: the one beside this program); -b likewise,\n"
    "                   for a build with another MPI library\n"
    "  --timeout S      longest wait for one window, in seconds, 1 to 86400 (default 120)\n"
    "  -h, --help       this text\n"
    "\n"
    "After --, see hccl_test -h; --rounds and --csv are for the comparison. OPTIONS are split at\n"
    "blanks. With Open MPI's mpirun both sides are bound to the same cores; with more ranks than\n"
    "cores they run unbound and yield. A ratio B/A above 1: side A is faster.\n"
    "Exit code: 0, 1 when a side failed or its results were wrong, 2 for bad arguments.\n";

struct versus {
    struct hccl_bench_job a, b;
    struct hccl_bench_options test;
    char **test_words;
    FILE *csv;
    bool help;
    char message[HCCL_BENCH_MESSAGE];
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void) number;
    interrupted = 1;
}

static bool on_path(const char *program)
{
    char copy[PATH_MAX], path[2 * PATH_MAX], *rest = copy, *directory;
    const char *all = getenv("PATH");

    snprintf(copy, sizeof copy, "%s", NULL == all ? "" : all);
    while (NULL != (directory = strsep(&rest, ":"))) {
        snprintf(path, sizeof path, "%s/%s", directory, program);
        if (0 == access(path, X_OK)) {
            return true;
        }
    }
    return false;
}

static bool is_open_mpi(const char *launcher)
{
    char command[PATH_MAX], text[128] = "";
    FILE *version;

    snprintf(command, sizeof command, "%s --version 2>/dev/null", launcher);
    version = popen(command, "r");
    if (NULL == version) {
        return false;
    }
    bool open = NULL != fgets(text, sizeof text, version)
                && (NULL != strstr(text, "Open MPI") || NULL != strstr(text, "OpenRTE"));
    pclose(version);
    return open;
}

/* Puts binding in front of a side's launcher options, unless they speak of it themselves. */
static void add_binding(struct hccl_bench_job *j)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    char *whole = NULL;

    if (NULL != strstr(j->options, "--bind-to") || NULL != strstr(j->launcher, "--bind-to")
        || !is_open_mpi(j->launcher)) {
        return;
    }
    if (-1
        != asprintf(&whole, "%s %s", j->launcher,
                    j->ranks <= cores
                        ? "--map-by core --bind-to core"
                        : "--oversubscribe --bind-to none --mca mpi_yield_when_idle 1")) {
        j->launcher = whole;
    }
}

static const char *beside(const char *name)
{
    static char path[PATH_MAX + 16];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);

    path[0 < length ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    snprintf(NULL == slash ? path : slash + 1, 16, "%s", name);
    return path;
}

enum { LAUNCHER_A = 256, LAUNCHER_B, PROGRAM_A, PROGRAM_B, RANKS, TIMEOUT };

static const struct option long_options[] = {{"launcher-a", required_argument, NULL, LAUNCHER_A},
                                             {"launcher-b", required_argument, NULL, LAUNCHER_B},
                                             {"program-a", required_argument, NULL, PROGRAM_A},
                                             {"program-b", required_argument, NULL, PROGRAM_B},
                                             {"np", required_argument, NULL, RANKS},
                                             {"timeout", required_argument, NULL, TIMEOUT},
                                             {"help", no_argument, NULL, 'h'},
                                             {NULL, 0, NULL, 0}};

static bool take_number(struct versus *v, const char *flag, long most, int *to)
{
    long number = 0;

    if (!hccl_bench_parse_number(optarg, 1, most, &number)) {
        snprintf(v->message, sizeof v->message, "%s %s: accepted are whole numbers from 1 to %ld",
                 flag, optarg, most);
        return false;
    }
    *to = (int) number;
    return true;
}

static bool take_option(struct versus *v, int option, char **argv)
{
    switch (option) {
    case 'A':
        v->a.options = optarg;
        return true;
    case 'B':
        v->b.options = optarg;
        return true;
    case LAUNCHER_A:
        v->a.launcher = optarg;
        return true;
    case LAUNCHER_B:
        v->b.launcher = optarg;
        return true;
    case PROGRAM_A:
        v->a.program = optarg;
        return true;
    case PROGRAM_B:
        v->b.program = optarg;
        return true;
    case RANKS:
        return take_number(v, "-np", 4096, &v->a.ranks);
    case TIMEOUT:
        return take_number(v, "--timeout", 86400, &v->a.seconds);
    case 'h':
        v->help = true;
        return true;
    case ':':
        snprintf(v->message, sizeof v->message, "%s needs a value", argv[optind - 1]);
        return false;
    default:
        snprintf(v->message, sizeof v->message, "%s is no option (hccl_versus -h lists them)",
                 argv[optind - 1]);
        return false;
    }
}

static bool parse(struct versus *v, int argc, char **argv)
{
    const char *launcher = on_path("mpirun.openmpi") ? "mpirun.openmpi" : "mpirun";
    const char *program = beside("hccl_test");
    int option;

    v->a = (struct hccl_bench_job){.name = 'A',
                                   .launcher = launcher,
                                   .program = program,
                                   .options = "--mca coll hccl",
                                   .seconds = 120};
    v->b = (struct hccl_bench_job){
        .name = 'B', .launcher = launcher, .program = program, .options = "--mca coll ^hccl"};
    opterr = 0;
    while (-1 != (option = getopt_long_only(argc, argv, "+:A:B:h", long_options, NULL))) {
        if (!take_option(v, option, argv)) {
            return false;
        }
    }
    if (v->help) {
        return true;
    }
    /* Parsed in a copy, since getopt sorts it; argv[optind - 1] stands for the program's name. */
    int words = argc - optind + 1;
    char **copy = calloc((size_t) words + 1, sizeof *copy);
    if (NULL == copy) {
        snprintf(v->message, sizeof v->message, "no memory");
        return false;
    }
    v->test_words = argv + optind;
    memcpy(copy, argv + optind - 1, (size_t) words * sizeof *copy);
    if (0 == v->a.ranks) {
        v->a.ranks = (int) sysconf(_SC_NPROCESSORS_ONLN);
    }
    bool fine =
        hccl_bench_options_parse(&v->test, words, copy)
        && (v->test.help
            || hccl_bench_options_fit(&v->test, v->test.ranks > 0 ? v->test.ranks : v->a.ranks));
    free(copy);
    snprintf(v->message, sizeof v->message, "%s", v->test.message);
    v->help = v->test.help;
    v->a.ranks = 0 < v->test.ranks ? v->test.ranks : v->a.ranks;
    v->b.ranks = v->a.ranks;
    v->b.seconds = v->a.seconds;
    return fine;
}

/* One pair of windows. */
static bool make_round(struct versus *v, const char *name, int mode, size_t bytes,
                       struct hccl_bench_round *r)
{
    bool a_first = 0 == (random() >> 8) % 2;

    for (int turn = 0; turn < 2; turn++) {
        bool a = a_first == (0 == turn);
        if (interrupted
            || !hccl_bench_job_window(a ? &v->a : &v->b, name, mode, bytes, a ? &r->a : &r->b)) {
            return false;
        }
    }
    return true;
}

/* Rounds until enough of them were steady, at most twice as many as asked for. */
static bool make_row(struct versus *v, const struct hccl_bench_collective *c, int mode,
                     size_t bytes, struct hccl_bench_row *row)
{
    int wanted = (int) v->test.rounds, tried = 0, steady = 0;
    struct hccl_bench_round *rounds = calloc((size_t) wanted * 2, sizeof *rounds);
    bool fine = NULL != rounds;

    while (fine && steady < wanted && tried < 2 * wanted) {
        fine = make_round(v, c->name, mode, bytes, &rounds[tried]);
        if (fine) {
            steady += hccl_bench_versus_steady(&rounds[tried++]);
        }
    }
    if (fine) {
        *row = (struct hccl_bench_row){
            .collective = c->name, .mode = hccl_bench_mode_names[mode], .bytes = bytes};
        hccl_bench_versus_digest(row, rounds, tried);
    }
    free(rounds);
    return fine;
}

/* All sizes of one collective in one mode; adds to *wrong the sides' wrong elements. */
static bool make_table(struct versus *v, const struct hccl_bench_collective *c, int mode,
                       double *wrong)
{
    double log_p5 = 0, log_median = 0;
    int rows = 0;
    bool more = true;

    hccl_bench_versus_head(c->name, hccl_bench_mode_names[mode]);
    for (size_t bytes = hccl_bench_options_first(&v->test, c); more;
         bytes = hccl_bench_options_next(&v->test, c, bytes, &more)) {
        struct hccl_bench_row row;
        if (!make_row(v, c, mode, bytes, &row)) {
            return false;
        }
        hccl_bench_versus_row(&row);
        if (NULL != v->csv) {
            hccl_bench_versus_csv_row(v->csv, &row, &v->a, &v->b);
        }
        log_p5 += log(row.p5.median);
        log_median += log(row.median.median);
        *wrong += row.wrong_a + row.wrong_b;
        rows++;
    }
    hccl_bench_versus_mean(log_p5, log_median, rows);
    return true;
}

static int compare(struct versus *v)
{
    double wrong = 0;

    printf("# A: %s\n# B: %s\n", v->a.options, v->b.options);
    printf("# %d ranks; A on cores %s, B on cores %s\n", v->a.ranks, v->a.cpus, v->b.cpus);
    printf("# times in us per operation, slowest rank, median over rounds; B/A above 1: A is "
           "faster\n");
    for (int i = 0; i < v->test.listed; i++) {
        for (int mode = 0; mode < HCCL_BENCH_MODES; mode++) {
            if (v->test.modes[mode] && !make_table(v, v->test.list[i], mode, &wrong)) {
                return FAILED;
            }
        }
    }
    return 0 < wrong ? FAILED : 0;
}

static int run(struct versus *v)
{
    char directory[64];
    const char *tmp = getenv("TMPDIR");
    int code = FAILED;

    if (0 <= snprintf(directory, sizeof directory, "%s/hccl_versus.XXXXXX",
                      NULL == tmp || 40 < strlen(tmp) ? "/tmp" : tmp)
        && NULL == mkdtemp(directory)) {
        fprintf(stderr, "hccl_versus: %s: %s\n", directory, strerror(errno));
        return FAILED;
    }
    /* One after the other, since both launchers want all cores while they start. */
    if (hccl_bench_job_start(&v->a, directory, v->test_words) && hccl_bench_job_greet(&v->a)
        && hccl_bench_job_start(&v->b, directory, v->test_words) && hccl_bench_job_greet(&v->b)) {
        code = compare(v);
    }
    hccl_bench_job_end(&v->a);
    hccl_bench_job_end(&v->b);
    rmdir(directory);
    return code;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
    static struct versus v;

    if (!parse(&v, argc, argv)) {
        fprintf(stderr, "hccl_versus: %s\n", v.message);
        return BAD_ARGUMENTS;
    }
    if (v.help) {
        fputs(usage, stdout);
        return 0;
    }
    if (NULL != v.test.csv) {
        v.csv = fopen(v.test.csv, "w");
        if (NULL == v.csv) {
            fprintf(stderr, "hccl_versus: --csv %s: %s; give a file that can be written\n",
                    v.test.csv, strerror(errno));
            return BAD_ARGUMENTS;
        }
        hccl_bench_versus_csv_head(v.csv);
    }
    add_binding(&v.a);
    add_binding(&v.b);
    catch_signals();
    srandom((unsigned) time(NULL) ^ (unsigned) getpid());
    int code = run(&v);
    if (NULL != v.csv) {
        fclose(v.csv);
    }
    return code;
}
