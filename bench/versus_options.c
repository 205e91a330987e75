/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See versus_options.h.
 */
#include "versus_options.h"
#include "versus_plot.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: hccl_versus [options] [CONTENDER...] -- COLLECTIVE[,COLLECTIVE...] [hccl_test "
    "options]\n"
    "\n"
    "Each contender is a job of hccl_test on the same cores. They measure in turn, in short "
    "windows,\n"
    "in random order within a round; whoever waits sleeps. The first contender is compared with "
    "each\n"
    "other and with the best other at each size. A contender is NAME=OPTIONS, with any name and\n"
    "options for mpirun, or one of these names (default: hccl tuned sm han, and mpich if it is\n"
    "there):\n";

static const char usage_options[] =
    "\n"
    "  -np N               ranks (default: one per core)\n"
    "  -A OPTIONS          the same as the contender \"A=OPTIONS\", before all others\n"
    "  -B OPTIONS          the same as the contender \"B=OPTIONS\"; -A alone is compared with\n"
    "                      \"--mca coll ^hccl\", -B alone with \"--mca coll hccl\"\n"
    "  --launcher NAME=L   how to start this contender's job (default: mpirun of its MPI)\n"
    "  --program NAME=P    its hccl_test, for another build (default: the one beside this "
    "program)\n"
    "  --launcher-a L, --program-a P, --launcher-b L, --program-b P: the same for A and B\n"
    "  --timeout S         longest wait for one window, in seconds, 1 to 86400 (default 120)\n"
    "  --plot PREFIX       draw PREFIX.svg, and PREFIX.png where gnuplot can; PREFIX.gp is the "
    "text\n"
    "                      that gnuplot gets\n"
    "  --json FILE         write the rows as JSON\n"
    "  --windows FILE      write one line per window (CSV): its times, and the latency of a flag\n"
    "                      between two ranks before and after it\n"
    "  --goals builtin|F   check these goals and list which are met; F: a file, docs/benchmark.md\n"
    "                      says of what form\n"
    "  -h, --help          this text\n"
    "\n"
    "After --, see hccl_test -h; --rounds (default 7) and --csv are for the comparison. OPTIONS "
    "are\n"
    "split at blanks. Ranks are bound to cores; with more ranks than cores they run unbound and\n"
    "yield. Ratios are time / time of the first contender, within a round: above 1, the first is\n"
    "faster. Rounds in which the flag latency moved by more than a quarter are made again.\n"
    "\"limit\" is the least time that moving the bytes takes on these cores, measured in the same\n"
    "rounds (docs/benchmark.md). \"=NAME\": the same component serves this contender as NAME.\n"
    "Exit code: 0, 1 when a contender failed or its results were wrong, 2 for bad arguments.\n";

void hccl_bench_versus_options_help(void)
{
    fputs(usage, stdout);
    hccl_bench_contender_list();
    fputs(usage_options, stdout);
}

/* What is set for contenders that may be named later. */
struct settings {
    const char *a, *b; /* -A, -B, or NULL */
    struct setting {
        const char *name, *value;
        size_t length; /* of the name */
        bool launcher; /* else program */
        bool found;
    } list[4 * HCCL_BENCH_CONTENDERS];
    int count;
};

enum { LAUNCHER_A = 256, LAUNCHER_B, PROGRAM_A, PROGRAM_B, LAUNCHER, PROGRAM, RANKS, TIMEOUT };
enum { JSON = 300, WINDOWS, PLOT, GOALS };

static const struct option long_options[] = {{"launcher-a", required_argument, NULL, LAUNCHER_A},
                                             {"launcher-b", required_argument, NULL, LAUNCHER_B},
                                             {"program-a", required_argument, NULL, PROGRAM_A},
                                             {"program-b", required_argument, NULL, PROGRAM_B},
                                             {"launcher", required_argument, NULL, LAUNCHER},
                                             {"program", required_argument, NULL, PROGRAM},
                                             {"np", required_argument, NULL, RANKS},
                                             {"timeout", required_argument, NULL, TIMEOUT},
                                             {"json", required_argument, NULL, JSON},
                                             {"windows", required_argument, NULL, WINDOWS},
                                             {"plot", required_argument, NULL, PLOT},
                                             {"goals", required_argument, NULL, GOALS},
                                             {"help", no_argument, NULL, 'h'},
                                             {NULL, 0, NULL, 0}};

static bool take_number(struct hccl_bench_versus_options *o, const char *flag, long most, int *to)
{
    long number = 0;

    if (!hccl_bench_parse_number(optarg, 1, most, &number)) {
        return hccl_bench_refuse(o->message, "%s %s: accepted are whole numbers from 1 to %ld",
                                 flag, optarg, most);
    }
    *to = (int) number;
    return true;
}

/* NAME=VALUE, or VALUE alone with the name given. */
static bool take_setting(struct hccl_bench_versus_options *o, struct settings *s, bool launcher,
                         const char *name, const char *text)
{
    const char *equal = strchr(text, '=');

    if (NULL == name && (NULL == equal || equal == text)) {
        return hccl_bench_refuse(o->message,
                                 "%s %s: accepted is NAME=VALUE, with the name of a contender",
                                 launcher ? "--launcher" : "--program", text);
    }
    if ((int) (sizeof s->list / sizeof s->list[0]) <= s->count) {
        return hccl_bench_refuse(o->message, "too many launchers and programs are set");
    }
    s->list[s->count++] =
        (struct setting){.name = NULL == name ? text : name,
                         .length = NULL == name ? (size_t) (equal - text) : strlen(name),
                         .value = NULL == name ? equal + 1 : text,
                         .launcher = launcher};
    return true;
}

static bool take_option(struct hccl_bench_versus_options *o, struct settings *s, int option,
                        char **argv)
{
    switch (option) {
    case 'A':
        s->a = optarg;
        return true;
    case 'B':
        s->b = optarg;
        return true;
    case LAUNCHER_A:
    case PROGRAM_A:
        return take_setting(o, s, LAUNCHER_A == option, "A", optarg);
    case LAUNCHER_B:
    case PROGRAM_B:
        return take_setting(o, s, LAUNCHER_B == option, "B", optarg);
    case LAUNCHER:
    case PROGRAM:
        return take_setting(o, s, LAUNCHER == option, NULL, optarg);
    case RANKS:
        return take_number(o, "-np", 4096, &o->ranks);
    case TIMEOUT:
        return take_number(o, "--timeout", 86400, &o->seconds);
    case JSON:
        o->json = optarg;
        return true;
    case WINDOWS:
        o->windows = optarg;
        return true;
    case PLOT:
        o->plot = optarg;
        return NULL == hccl_bench_plot_refuses(optarg)
               || hccl_bench_refuse(o->message, "--plot %s: %s", optarg,
                                    hccl_bench_plot_refuses(optarg));
    case GOALS:
        o->goals = optarg;
        return true;
    case 'h':
        o->help = true;
        return true;
    case ':':
        return hccl_bench_refuse(o->message, "%s needs a value", argv[optind - 1]);
    default:
        return hccl_bench_refuse(o->message, "%s is no option (hccl_versus -h lists them)",
                                 argv[optind - 1]);
    }
}

/* Adds NAME=OPTIONS or a known name; `optional`: one that is not installed is left out. */
static bool add(struct hccl_bench_versus_options *o, const char *name, const char *options,
                bool optional)
{
    struct hccl_bench_contender *c = &o->contenders[o->count];
    bool missing = false;

    if (HCCL_BENCH_CONTENDERS == o->count) {
        return hccl_bench_refuse(o->message, "%s: more than %d contenders", name,
                                 HCCL_BENCH_CONTENDERS);
    }
    const char *why = NULL == options ? hccl_bench_contender_known(c, name, &missing)
                                      : hccl_bench_contender_own(c, name, options);
    if (NULL != why && optional && missing) {
        snprintf(o->notes, sizeof o->notes, "%s is left out: %s", name, why);
        return true;
    }
    if (NULL != why) {
        return hccl_bench_refuse(o->message, "contender %s: %s", name, why);
    }
    for (int i = 0; i < o->count; i++) {
        if (0 == strcmp(o->contenders[i].name, c->name)) {
            return hccl_bench_refuse(
                o->message, "contender %s: this name is taken, accepted are distinct ones", name);
        }
    }
    o->count++;
    return true;
}

static bool add_word(struct hccl_bench_versus_options *o, const char *word)
{
    char *name = strdup(word); /* lives until the program ends */

    if (NULL == name) {
        return hccl_bench_refuse(o->message, "no memory");
    }
    char *equal = strchr(name, '=');
    if (NULL != equal) {
        *equal = '\0';
    }
    return add(o, name, NULL == equal ? NULL : equal + 1, false);
}

/* The contenders in order: A, B, the words before "--"; the usual ones where there are none. */
static bool add_all(struct hccl_bench_versus_options *o, const struct settings *s, char **words,
                    int count)
{
    bool pair = NULL != s->a || NULL != s->b;

    if (pair && !add(o, "A", NULL != s->a ? s->a : "--mca coll hccl", false)) {
        return false;
    }
    if (NULL != s->b || (NULL != s->a && 0 == count)) {
        if (!add(o, "B", NULL != s->b ? s->b : "--mca coll ^hccl", false)) {
            return false;
        }
    }
    for (int i = 0; i < count; i++) {
        if (!add_word(o, words[i])) {
            return false;
        }
    }
    if (0 == o->count) {
        const char *usual[] = {"hccl", "tuned", "sm", "han", "mpich"};
        for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
            if (!add(o, usual[i], NULL, true)) {
                return false;
            }
        }
    }
    return 1 < o->count
           || hccl_bench_refuse(o->message, "contender %s: with whom shall it be compared?",
                                words[0]);
}

static bool apply(struct hccl_bench_versus_options *o, struct settings *s)
{
    for (struct setting *e = s->list; e < s->list + s->count; e++) {
        for (int i = 0; i < o->count; i++) {
            struct hccl_bench_contender *c = &o->contenders[i];
            if (strlen(c->name) == e->length && 0 == memcmp(c->name, e->name, e->length)) {
                *(e->launcher ? &c->job.launcher : &c->job.program) = e->value;
                c->known = false;
                e->found = true;
            }
        }
        if (!e->found) {
            return hccl_bench_refuse(o->message, "%s %.*s: there is no contender of this name",
                                     e->launcher ? "--launcher" : "--program", (int) e->length,
                                     e->name);
        }
    }
    return true;
}

/* The words after "--", parsed in a copy, since getopt sorts it; the word before stands for the
 * program's name. */
static bool parse_test(struct hccl_bench_versus_options *o, int words, char **argv)
{
    char **copy = calloc((size_t) words + 1, sizeof *copy);

    if (NULL == copy) {
        return hccl_bench_refuse(o->message, "no memory");
    }
    memcpy(copy, argv, (size_t) words * sizeof *copy);
    if (0 == o->ranks) {
        o->ranks = (int) sysconf(_SC_NPROCESSORS_ONLN);
    }
    bool fine = hccl_bench_options_parse(&o->test, words, copy);
    o->ranks = 0 < o->test.ranks ? o->test.ranks : o->ranks;
    fine = fine && (o->test.help || hccl_bench_options_fit(&o->test, o->ranks));
    free(copy);
    snprintf(o->message, sizeof o->message, "%s", o->test.message);
    o->help = o->test.help;
    return fine;
}

bool hccl_bench_versus_options_parse(struct hccl_bench_versus_options *o, int argc, char **argv)
{
    struct settings s = {.count = 0};
    int option, split = 1;

    memset(o, 0, sizeof *o);
    o->seconds = 120;
    opterr = 0;
    while (-1 != (option = getopt_long_only(argc, argv, "+:A:B:h", long_options, NULL))) {
        if (!take_option(o, &s, option, argv)) {
            return false;
        }
    }
    if (o->help) {
        return true;
    }
    /* "--" ends the contenders; without it, and without contenders, getopt stops at the test's. */
    int first = optind;
    bool ended = 0 == strcmp(argv[first - 1], "--");
    for (split = first; !ended && split < argc && 0 != strcmp(argv[split], "--"); split++) {
    }
    bool named = !ended && split < argc;
    if (!add_all(o, &s, argv + first, named ? split - first : 0) || !apply(o, &s)) {
        return false;
    }
    int test = named ? split + 1 : first;
    o->test_words = argv + test;
    if (!parse_test(o, argc - test + 1, argv + test - 1)) {
        return false;
    }
    for (int i = 0; i < o->count; i++) {
        o->contenders[i].job.ranks = o->ranks;
        o->contenders[i].job.seconds = o->seconds;
    }
    return true;
}
