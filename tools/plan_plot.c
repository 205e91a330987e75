/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_plan sweep --plot: maps of the fastest algorithm over size and number of nodes, and, of the
 * most nodes, the time of each algorithm over size. One row of two panels for each collective. The
 * script holds its data and names no terminal: gnuplot -e "set terminal svg; set output
 * 'again.svg'" PREFIX.gp
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan_options.h"

enum { NO_GNUPLOT = 127, WIDTH = 1500, HEIGHT = 460, MOST_NAMES = 12 };

/* Distinct for colour-blind eyes too (Okabe and Ito), then darker ones of these. */
static const char *const colours[MOST_NAMES] = {"#e69f00", "#56b4e9", "#009e73", "#f0e442",
                                                "#0072b2", "#d55e00", "#cc79a7", "#999999",
                                                "#8a5f00", "#2d7ca8", "#005c43", "#7f3800"};

static const char head[] =
    "set encoding utf8\nset border 3\nset tics nomirror out\nset logscale x 2\n"
    "set xtics ('8' 8, '64' 64, '512' 512, '4K' 4096, '32K' 32768, '256K' 262144, '2M' 2097152, "
    "'16M' 16777216, '128M' 134217728)\nset xlabel 'bytes'\nset grid xtics ytics lc rgb "
    "'#dddddd'\n";

/* The collective's algorithms that are somewhere the fastest, or all; how many. */
static int names_of(const plan_point_t *points, int count, hccl_coll_t coll, bool all, int *list)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        bool known = coll != points[i].coll || (!all && !points[i].fastest);
        for (int j = 0; j < n && !known; j++) {
            known = list[j] == points[i].algorithm;
        }
        if (!known && n < MOST_NAMES) {
            list[n++] = points[i].algorithm;
        }
    }
    return n;
}

static void write_map(FILE *gp, const plan_point_t *points, int count, hccl_coll_t coll)
{
    int list[MOST_NAMES];
    int n = names_of(points, count, coll, false, list);
    for (int j = 0; j < n; j++) {
        fprintf(gp, "$map%d_%d << END\n", coll, j);
        for (int i = 0; i < count; i++) {
            const plan_point_t *p = &points[i];
            if (coll == p->coll && p->fastest && list[j] == p->algorithm) {
                fprintf(gp, "%zu %d\n", p->bytes, p->nodes);
            }
        }
        fprintf(gp, "END\n");
    }
    fprintf(gp,
            "set title '%s: the fastest algorithm'\nset ylabel 'nodes'\nset logscale y 2\n"
            "set yrange [*:*]\nset key outside right top\nplot ",
            hccl_coll_info[coll].name);
    for (int j = 0; j < n; j++) {
        fprintf(gp, "%s$map%d_%d using 1:2 with points pt 5 ps 2.6 lc rgb '%s' title '%s'",
                0 == j ? "" : ", ", coll, j, colours[j], hccl_algos[list[j]].name);
    }
    fprintf(gp, "\n");
}

static void write_times(FILE *gp, const plan_point_t *points, int count, hccl_coll_t coll)
{
    int list[MOST_NAMES], nodes = 0;
    int n = names_of(points, count, coll, true, list);
    for (int i = 0; i < count; i++) {
        nodes = coll == points[i].coll && points[i].nodes > nodes ? points[i].nodes : nodes;
    }
    for (int j = 0; j < n; j++) {
        fprintf(gp, "$time%d_%d << END\n", coll, j);
        for (int i = 0; i < count; i++) {
            const plan_point_t *p = &points[i];
            if (coll == p->coll && nodes == p->nodes && list[j] == p->algorithm) {
                fprintf(gp, "%zu %.6g\n", p->bytes, p->seconds * 1e6);
            }
        }
        fprintf(gp, "END\n");
    }
    fprintf(gp,
            "set title '%s on %d nodes: time in microseconds'\nset ylabel ''\nset logscale y 10\n"
            "set key outside right top\nplot ",
            hccl_coll_info[coll].name, nodes);
    for (int j = 0; j < n; j++) {
        fprintf(gp,
                "%s$time%d_%d using 1:2 with linespoints pt 7 ps 0.4 lw 2 lc rgb '%s' title '%s'",
                0 == j ? "" : ", ", coll, j, colours[j], hccl_algos[list[j]].name);
    }
    fprintf(gp, "\n");
}

static int panels(const plan_point_t *points, int count)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        n += 0 == i || points[i].coll != points[i - 1].coll;
    }
    return n;
}

static void write_script(FILE *gp, const plan_options_t *o, const plan_point_t *points, int count)
{
    int rows = panels(points, count);
    fprintf(gp,
            "# by hccl_plan sweep; gnuplot -e \"set terminal svg size %d,%d noenhanced; set output "
            "'FILE.svg'\" THIS_FILE\n%sset multiplot layout %d,2 title \"%s; each node %s\" "
            "noenhanced\n",
            WIDTH, HEIGHT * rows, head, rows, o->machine.name, o->inside);
    for (int i = 0; i < count; i++) {
        if (0 == i || points[i].coll != points[i - 1].coll) {
            write_map(gp, points, count, points[i].coll);
            write_times(gp, points, count, points[i].coll);
        }
    }
    fprintf(gp, "unset multiplot\n");
}

/* gnuplot's exit code; 127: there is no gnuplot. */
static int draw(const char *prefix, int rows)
{
    char settings[2048], script[1024];
    int status = 0;
    snprintf(script, sizeof(script), "%s.gp", prefix);
    snprintf(settings, sizeof(settings),
             "set terminal svg size %d,%d noenhanced background '#ffffff'; set output '%s.svg'",
             WIDTH, HEIGHT * rows, prefix);
    fflush(stdout);
    pid_t pid = fork();
    if (0 == pid) {
        execlp("gnuplot", "gnuplot", "-e", settings, script, (char *) NULL);
        _exit(ENOENT == errno ? NO_GNUPLOT : 1);
    }
    if (pid < 0 || pid != waitpid(pid, &status, 0)) {
        return 1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

bool plan_plot(const plan_options_t *o, const plan_point_t *points, int count)
{
    char script[1024];
    snprintf(script, sizeof(script), "%s.gp", o->plot);
    FILE *gp = fopen(script, "w");
    if (NULL == gp) {
        fprintf(stderr, "hccl_plan: --plot: %s: %s\n", script, strerror(errno));
        return false;
    }
    write_script(gp, o, points, count);
    bool good = 0 == ferror(gp);
    good &= 0 == fclose(gp);
    if (!good) {
        fprintf(stderr, "hccl_plan: --plot: %s could not be written\n", script);
        return false;
    }
    int code = draw(o->plot, panels(points, count));
    if (0 == code) {
        printf("# plot: %s.svg\n", o->plot);
    } else if (NO_GNUPLOT == code) {
        printf("# no plot: gnuplot is not installed (Debian: gnuplot-nox); its script is %s\n",
               script);
    } else {
        fprintf(stderr, "hccl_plan: --plot: gnuplot could not draw %s\n", script);
    }
    return 0 == code || NO_GNUPLOT == code;
}
