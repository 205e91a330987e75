/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See versus_goals.h: reading goals. versus_goals_check.c compares them with rows.
 */
#include "versus_goals.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char hccl_bench_goals_builtin[] = "# two ranks on one node\n"
                                        "near 150\n"
                                        "floor 0.97\n"
                                        "step 1.5\n"
                                        "above barrier 60\n"
                                        "ratio allreduce 8 1.4\n"
                                        "ratio allreduce 1K 1.3\n"
                                        "ratio allreduce 8K 2\n"
                                        "ratio allreduce 64K 2\n"
                                        "ratio allreduce 1M 1.6\n"
                                        "ratio allreduce 4M 1.5\n"
                                        "ratio bcast 0-1K 1\n"
                                        "ratio bcast 64K 2.5 1.6\n"
                                        "ratio bcast 1M 2.3 1.5\n"
                                        "ratio reduce 8K 2\n"
                                        "ratio reduce 64K 2.7 1.4\n"
                                        "ratio allgather 8K 1.5 1.2\n"
                                        "ratio allgather 64K 2.2\n"
                                        "ratio allgather 1M 1.4\n"
                                        "ratio alltoall 8K 4\n"
                                        "ratio alltoall 64K 1.9\n"
                                        "ratio reduce_scatter_block 8K 2.2\n"
                                        "ratio reduce_scatter_block 64K 3\n"
                                        "ratio reduce_scatter_block 1M 2.4\n";

static bool to_number(const char *text, double *number)
{
    char *end;

    *number = strtod(text, &end);
    return end != text && '\0' == *end && 0 < *number && *number < 1e9;
}

/* "8", "64K" or "8-1K". */
static bool to_sizes(char *text, size_t *least, size_t *most)
{
    char *dash = strchr(text, '-');

    if (NULL != dash) {
        *dash = '\0';
    }
    return hccl_bench_parse_bytes(text, least)
           && hccl_bench_parse_bytes(NULL == dash ? text : dash + 1, most) && *least <= *most;
}

enum { WORDS = 6 };

/* One line, split in words. False: it is none of the forms. */
static bool to_goal(struct hccl_bench_goals *g, char **words, int count)
{
    struct hccl_bench_goal goal = {.most = 0};
    bool fine = false;

    if (2 == count && 0 == strcmp("near", words[0])) {
        return to_number(words[1], &g->near_ns);
    }
    if (2 == count && (0 == strcmp("floor", words[0]) || 0 == strcmp("step", words[0]))) {
        goal.kind = 'f' == words[0][0] ? HCCL_BENCH_GOAL_FLOOR : HCCL_BENCH_GOAL_STEP;
        fine = to_number(words[1], &goal.far);
        goal.near = goal.far;
    } else if (3 == count && 0 == strcmp("above", words[0])) {
        goal.kind = HCCL_BENCH_GOAL_ABOVE;
        fine = NULL != hccl_bench_collective_find(words[1]) && to_number(words[2], &goal.far);
        goal.near = goal.far;
    } else if ((4 == count || 5 == count) && 0 == strcmp("ratio", words[0])) {
        goal.kind = HCCL_BENCH_GOAL_RATIO;
        fine = NULL != hccl_bench_collective_find(words[1])
               && to_sizes(words[2], &goal.least, &goal.most) && to_number(words[3], &goal.far)
               && to_number(words[count - 1], &goal.near);
    }
    if (fine && 2 < count) {
        snprintf(goal.collective, sizeof goal.collective, "%s", words[1]);
    }
    if (fine) {
        g->list[g->count++] = goal;
    }
    return fine;
}

static bool read_line(struct hccl_bench_goals *g, const char *name, int number, char *line)
{
    char copy[256], *words[WORDS], *rest = NULL;
    int count = 0;

    line[strcspn(line, "#\r\n")] = '\0';
    snprintf(copy, sizeof copy, "%s", line);
    for (char *w = strtok_r(line, " \t", &rest); NULL != w && count < WORDS;
         w = strtok_r(NULL, " \t", &rest)) {
        words[count++] = w;
    }
    if (0 == count) {
        return true;
    }
    if (HCCL_BENCH_GOALS == g->count) {
        return hccl_bench_refuse(g->message, "--goals %s: more than %d goals", name,
                                 HCCL_BENCH_GOALS);
    }
    return to_goal(g, words, count)
           || hccl_bench_refuse(
               g->message,
               "--goals %s, line %d: '%s': accepted are \"floor R\", \"step R\", \"near NS\", "
               "\"above COLLECTIVE NS\" and \"ratio COLLECTIVE SIZE[-SIZE] FAR [NEAR]\"",
               name, number, copy);
}

bool hccl_bench_goals_read(struct hccl_bench_goals *g, const char *name)
{
    bool builtin = 0 == strcmp("builtin", name), fine = true;
    FILE *file =
        builtin ? fmemopen((void *) hccl_bench_goals_builtin, strlen(hccl_bench_goals_builtin), "r")
                : fopen(name, "r");
    char *line = NULL;
    size_t room = 0;

    memset(g, 0, sizeof *g);
    g->near_ns = 150;
    if (NULL == file) {
        return hccl_bench_refuse(g->message,
                                 "--goals %s: %s; accepted are builtin and a file that can be read",
                                 name, strerror(errno));
    }
    for (int number = 1; fine && 0 <= getline(&line, &room, file); number++) {
        fine = read_line(g, name, number, line);
    }
    free(line);
    fclose(file);
    return fine
           && (0 < g->count
               || hccl_bench_refuse(g->message, "--goals %s: there is no goal in it", name));
}
