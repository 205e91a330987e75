/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See versus_contender.h.
 *
 * A component serves a communicator when its priority is the highest of those that offer the
 * collective; coll/sm and coll/han have priority 0, which means never, so they are raised. han gives
 * way by itself where all ranks are on one node.
 */
#include "versus_contender.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct known {
    const char *name, *launchers[3], *program, *options, *meaning;
} known[] = {
#define OF_OPEN_MPI {"mpirun.openmpi", "mpirun"}, "hccl_test"
    {"hccl", OF_OPEN_MPI, "--mca coll hccl", "this component alone"},
    {"tuned", OF_OPEN_MPI, "--mca coll tuned,basic,libnbc,self", "Open MPI's coll/tuned"},
    {"sm", OF_OPEN_MPI, "--mca coll sm,tuned,basic,libnbc,self --mca coll_sm_priority 99",
     "Open MPI's coll/sm (allreduce, barrier, bcast, reduce; else tuned)"},
    {"han", OF_OPEN_MPI, "--mca coll han,sm,tuned,basic,libnbc,self --mca coll_han_priority 99",
     "Open MPI's coll/han (over several nodes; else tuned)"},
    {"mpich", {"mpirun.mpich", "mpiexec.hydra"}, "hccl_test_mpich", "", "MPICH, if installed"},
    {"default", OF_OPEN_MPI, "--mca coll ^hccl", "Open MPI as it is without this component"}};
enum { KNOWN = sizeof known / sizeof known[0] };

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

/* The first of the launchers that is there, else NULL. */
static const char *launcher_of(const struct known *k)
{
    for (int i = 0; NULL != k->launchers[i]; i++) {
        if (on_path(k->launchers[i])) {
            return k->launchers[i];
        }
    }
    return NULL;
}

/* The path of a program that lies beside this one; lives until the program ends. */
static char *beside(const char *name)
{
    char path[PATH_MAX], *whole = NULL;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    path[0 < length ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    *(NULL == slash ? path : slash + 1) = '\0';
    return asprintf(&whole, "%s%s", path, name) < 0 ? NULL : whole;
}

static void fill(struct hccl_bench_contender *c, const char *name, const char *launcher,
                 const char *program, const char *options)
{
    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    c->job.name = c->name;
    c->job.launcher = launcher;
    c->job.program = program;
    c->job.options = options;
    c->same = -1;
}

const char *hccl_bench_contender_known(struct hccl_bench_contender *c, const char *name,
                                       bool *missing)
{
    *missing = false;
    for (const struct known *k = known; k < known + KNOWN; k++) {
        if (0 != strcmp(k->name, name)) {
            continue;
        }
        const char *launcher = launcher_of(k), *program = beside(k->program);
        if (NULL == launcher || NULL == program || 0 != access(program, X_OK)) {
            *missing = 0 != strcmp("hccl_test", k->program);
        }
        fill(c, name, NULL == launcher ? k->launchers[1] : launcher, program, k->options);
        c->known = true;
        return *missing ? "its launcher, or the benchmark built for it, is not there" : NULL;
    }
    return "accepted are hccl, tuned, sm, han, mpich, default, and NAME=OPTIONS";
}

const char *hccl_bench_contender_own(struct hccl_bench_contender *c, const char *name,
                                     const char *options)
{
    const char *launcher = launcher_of(&known[0]), *program = beside("hccl_test");
    size_t fine = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+");

    if ('\0' == name[0] || '\0' != name[fine] || HCCL_BENCH_NAME <= strlen(name)) {
        return "accepted are names of 1 to 23 letters, digits and _ - +";
    }
    fill(c, name, NULL == launcher ? "mpirun" : launcher, program, options);
    return NULL;
}

enum flavour { OTHER, OMPI, HYDRA };

static enum flavour flavour_of(const char *launcher)
{
    char command[PATH_MAX], text[128] = "";
    FILE *version;

    snprintf(command, sizeof command, "%s --version 2>/dev/null", launcher);
    version = popen(command, "r");
    if (NULL == version) {
        return OTHER;
    }
    bool any = NULL != fgets(text, sizeof text, version);
    pclose(version);
    if (any && (NULL != strstr(text, "Open MPI") || NULL != strstr(text, "OpenRTE"))) {
        return OMPI;
    }
    return any && NULL != strstr(text, "HYDRA") ? HYDRA : OTHER;
}

void hccl_bench_contender_place(struct hccl_bench_contender *c)
{
    struct hccl_bench_job *j = &c->job;
    bool crowded = sysconf(_SC_NPROCESSORS_ONLN) < j->ranks;
    const char *words[] = {[OTHER] = NULL,
                           [OMPI] = crowded ? "--oversubscribe --bind-to none --mca "
                                              "mpi_yield_when_idle 1"
                                            : "--map-by core --bind-to core",
                           [HYDRA] = crowded ? "-bind-to none" : "-bind-to core"};
    char *whole = NULL;

    if (NULL != strstr(j->options, "-bind-to") || NULL != strstr(j->launcher, "-bind-to")) {
        return;
    }
    const char *placing = words[flavour_of(j->launcher)];
    if (NULL != placing && 0 < asprintf(&whole, "%s %s", j->launcher, placing)) {
        j->launcher = whole;
    }
}

void hccl_bench_contender_list(void)
{
    for (int i = 0; i < KNOWN; i++) {
        printf("  %-9s %s\n", known[i].name, known[i].meaning);
    }
}
