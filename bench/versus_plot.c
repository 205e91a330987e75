/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See versus_plot.h. One line of two panels for each table: time over size, and the ratios of the other
 * contenders to the first over size. A collective without sizes gets bars. The script holds its data
 * and names no terminal, so it can be changed and used again:
 *     gnuplot -e "set terminal svg; set output 'again.svg'" PREFIX.gp
 */
#include "versus_plot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WIDTH = 1500, HEIGHT = 420, NO_GNUPLOT = 127 };

/* Distinct for colour-blind eyes too (Okabe and Ito). */
static const char *const colours[] = {"#d55e00", "#0072b2", "#009e73",
                                      "#cc79a7", "#e69f00", "#56b4e9"};
enum { COLOURS = sizeof colours / sizeof colours[0] };

static const char head[] = "set encoding utf8\n"
                           "set grid xtics ytics lc rgb '#dddddd'\n"
                           "set border 3\n"
                           "set tics nomirror out\n"
                           "set datafile missing '-'\n"
                           "set key left top reverse Left samplen 2\n";

static const char sizes_axis[] =
    "set logscale xy\n"
    "set xtics ('8' 8, '64' 64, '512' 512, '4K' 4096, '32K' 32768, '256K' 262144, '2M' 2097152, "
    "'16M' 16777216, '128M' 134217728)\n"
    "set xlabel 'bytes'\n";

const char *hccl_bench_plot_refuses(const char *prefix)
{
    if ('\0' == prefix[0] || PATH_MAX - 8 < strlen(prefix) || NULL != strpbrk(prefix, "'\"\\\n")) {
        return "accepted are paths without quotes and backslashes";
    }
    const char *slash = strrchr(prefix, '/');
    char directory[PATH_MAX] = ".";
    if (NULL != slash) {
        snprintf(directory, sizeof directory, "%.*s/", (int) (slash - prefix), prefix);
    }
    if (0 != access(directory, W_OK | X_OK)) {
        return "accepted are paths in a directory that can be written to";
    }
    return NULL;
}

/* Which contenders have a line of their own in a table. */
static bool drawn(const struct hccl_bench_row *row, int i)
{
    return row->sides[i].same < 0 && row->sides[i].measured;
}

static void number(FILE *gp, double value)
{
    if (0 < value) {
        fprintf(gp, " %.5g", value);
    } else {
        fprintf(gp, " -");
    }
}

/* Columns: bytes, model, copy, best's ratio with its range, then time and ratio of each contender. */
enum { MODEL = 2, COPY, BEST, BEST_LOW, BEST_HIGH, FIRST };

static void write_data(FILE *gp, int table, const struct hccl_bench_row *rows, int count)
{
    fprintf(gp, "$table%d << END\n", table);
    for (const struct hccl_bench_row *row = rows; row < rows + count; row++) {
        const struct hccl_bench_stats *best = &row->sides[row->best_median].ratio_median;
        fprintf(gp, "%zu", row->bytes);
        number(gp, row->limit);
        number(gp, row->through);
        number(gp, best->median);
        number(gp, best->min);
        number(gp, best->max);
        for (int i = 0; i < row->count; i++) {
            number(gp, row->sides[i].measured ? row->sides[i].median.median : 0);
            number(gp, row->sides[i].measured ? row->sides[i].ratio_median.median : 0);
        }
        fprintf(gp, "\n");
    }
    fprintf(gp, "END\n");
}

static void write_lines(FILE *gp, const struct hccl_bench_versus_options *o, int table,
                        const struct hccl_bench_row *rows)
{
    const char *first = o->contenders[0].name;

    fprintf(gp, "%sset title '%s, %s: time in microseconds'\nplot ", sizes_axis, rows[0].collective,
            rows[0].mode);
    for (int i = 0; i < rows[0].count; i++) {
        if (drawn(&rows[0], i)) {
            fprintf(
                gp,
                "$table%d using 1:%d with linespoints lc rgb '%s' lw %d pt %d ps 0.5 title '%s', ",
                table, FIRST + 2 * i, colours[i % COLOURS], 0 == i ? 3 : 2, i + 4,
                o->contenders[i].name);
        }
    }
    fprintf(gp, "$table%d using 1:%d with lines lc rgb '#999999' dt 3 lw 2 title 'plain copy', ",
            table, COPY);
    fprintf(gp, "$table%d using 1:%d with lines lc rgb 'black' dt 2 lw 2 title 'model limit'\n",
            table, MODEL);
    fprintf(gp,
            "set title '%s, %s: time / time of %s (above 1: %s is faster)'\n"
            "plot $table%d using 1:%d:%d with filledcurves lc rgb '#dddddd' title 'best other, "
            "range', ",
            rows[0].collective, rows[0].mode, first, first, table, BEST_LOW, BEST_HIGH);
    for (int i = 1; i < rows[0].count; i++) {
        if (drawn(&rows[0], i)) {
            fprintf(gp,
                    "$table%d using 1:%d with linespoints lc rgb '%s' pt %d ps 0.5 title '%s', ",
                    table, FIRST + 2 * i + 1, colours[i % COLOURS], i + 4, o->contenders[i].name);
        }
    }
    fprintf(
        gp,
        "$table%d using 1:%d with lines lc rgb 'black' lw 2 title 'best other', 0.97 with lines "
        "lc rgb 'red' dt 2 title '0.97'\n",
        table, BEST);
}

/* No sizes: one bar per contender, in both panels. */
static void write_bars(FILE *gp, const struct hccl_bench_versus_options *o, int table,
                       const struct hccl_bench_row *row)
{
    fprintf(gp, "$bars%d << END\n", table);
    for (int i = 0; i < row->count; i++) {
        if (drawn(row, i)) {
            fprintf(gp, "%s %.5g %.5g\n", o->contenders[i].name, row->sides[i].median.median,
                    row->sides[i].ratio_median.median);
        }
    }
    fprintf(
        gp,
        "END\nunset logscale\nset xlabel ''\nset xtics auto\nset yrange [0:*]\nset boxwidth 0.6\n"
        "set style fill solid 0.6\n"
        "set title '%s, %s: time in microseconds'\n"
        "plot $bars%d using 0:2:xtic(1) with boxes lc rgb '%s' notitle",
        row->collective, row->mode, table, colours[1]);
    if (0 < row->limit) {
        fprintf(gp, ", %.5g with lines lc rgb 'black' dt 2 lw 2 title 'model limit'", row->limit);
    }
    fprintf(gp,
            "\nset title '%s, %s: time / time of %s'\n"
            "plot $bars%d using 0:3:xtic(1) with boxes lc rgb '%s' notitle, 0.97 with lines lc rgb "
            "'red' dt 2 title '0.97'\nset yrange [*:*]\n",
            row->collective, row->mode, o->contenders[0].name, table, colours[1]);
}

static int count_tables(const struct hccl_bench_row *rows, int count)
{
    int tables = 0;

    for (int at = 0; at < count; at += hccl_bench_rows_of_table(rows + at, count - at)) {
        tables++;
    }
    return tables;
}

static void write_script(FILE *gp, const struct hccl_bench_versus_options *o,
                         const struct hccl_bench_row *rows, int count)
{
    int tables = count_tables(rows, count), table = 0;

    fprintf(gp,
            "# by hccl_versus; gnuplot -e \"set terminal svg size %d,%d noenhanced; set output "
            "'FILE.svg'\" THIS_FILE\n%s",
            WIDTH, HEIGHT * tables, head);
    fprintf(gp,
            "set multiplot layout %d,2 title '%d ranks, %s %s, %ld rounds%s; medians' noenhanced\n",
            tables, o->ranks, o->test.type->name, o->test.op->name, o->test.rounds,
            o->test.in_place ? ", in place" : "");
    for (int at = 0; at < count; table++) {
        int n = hccl_bench_rows_of_table(rows + at, count - at);
        if (0 == rows[at].bytes && 1 == n) {
            write_bars(gp, o, table, &rows[at]);
        } else {
            write_data(gp, table, rows + at, n);
            write_lines(gp, o, table, rows + at);
        }
        at += n;
    }
    fprintf(gp, "unset multiplot\n");
}

/* gnuplot's exit code, with its messages on stderr unless it is `quiet`; 127: there is no gnuplot. */
static int run_gnuplot(const char *settings, const char *script, bool quiet)
{
    int status = 0;
    pid_t pid = fork();

    if (0 == pid) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDIN_FILENO);
        dup2(quiet ? null : STDERR_FILENO, STDOUT_FILENO);
        dup2(STDOUT_FILENO, STDERR_FILENO);
        execlp("gnuplot", "gnuplot", "-e", settings, script, (char *) NULL);
        _exit(ENOENT == errno ? NO_GNUPLOT : 1);
    }
    if (pid < 0) {
        return 1;
    }
    while (pid != waitpid(pid, &status, 0)) {
        if (EINTR != errno) {
            return 1;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int draw(const char *prefix, const char *ending, const char *terminal, int tables)
{
    char settings[2 * PATH_MAX], script[PATH_MAX], file[PATH_MAX];
    struct stat about;

    snprintf(script, sizeof script, "%s.gp", prefix);
    snprintf(file, sizeof file, "%s.%s", prefix, ending);
    unlink(file);
    snprintf(
        settings, sizeof settings,
        "set terminal %s size %d,%d noenhanced font ',13' background '#ffffff'; set output '%s'",
        terminal, WIDTH, HEIGHT * tables, file);
    int code = run_gnuplot(settings, script, 0 == strcmp("png", ending));
    if (0 == code && (0 != stat(file, &about) || 0 == about.st_size)) {
        code = 1;
    }
    if (0 == code) {
        printf("# plot: %s\n", file);
    }
    return code;
}

bool hccl_bench_plot(const struct hccl_bench_versus_options *o, const struct hccl_bench_row *rows,
                     int count)
{
    char script[PATH_MAX];
    int tables = count_tables(rows, count);

    snprintf(script, sizeof script, "%s.gp", o->plot);
    FILE *gp = fopen(script, "w");
    if (NULL == gp) {
        fprintf(stderr, "hccl_versus: --plot: %s: %s\n", script, strerror(errno));
        return false;
    }
    write_script(gp, o, rows, count);
    bool written = 0 == ferror(gp);
    if (0 != fclose(gp) || !written) {
        fprintf(stderr, "hccl_versus: --plot: %s could not be written\n", script);
        return false;
    }
    int code = draw(o->plot, "svg", "svg", tables);
    if (NO_GNUPLOT == code) {
        printf("# no plot: gnuplot is not installed (Debian: gnuplot-nox); its script is %s\n",
               script);
        return true;
    }
    if (0 != code) {
        fprintf(stderr, "hccl_versus: --plot: gnuplot could not draw %s\n", script);
        return false;
    }
    draw(o->plot, "png", "pngcairo", tables); /* not every gnuplot has it */
    return true;
}
