/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_plan's command line.
 */
#include "plan_options.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: hccl_plan list\n"
    "       hccl_plan dump     COLLECTIVE ALGORITHM TOPOLOGY [--root R] [--rank K]\n"
    "       hccl_plan show     COLLECTIVE ALGORITHM TOPOLOGY [--root R] [--rank K] [--bytes N]\n"
    "       hccl_plan check    COLLECTIVE ALGORITHM TOPOLOGY [--root R]\n"
    "       hccl_plan cost     COLLECTIVE ALGORITHM TOPOLOGY [--root R] [--bytes N] [--segments "
    "S]\n"
    "       hccl_plan simulate COLLECTIVE ALGORITHM [TOPOLOGY] [--root R] [--bytes N] [--segments "
    "S]\n"
    "                          [--all-ranks]\n"
    "       hccl_plan machine\n"
    "TOPOLOGY      as in `node:4 numa:2 core:2`, see src/topo/topo.h; may be left out where the\n"
    "              machine file names one\n"
    "--machine F   a machine description; --set KEY=VALUE changes a line of it. Both for show,\n"
    "              simulate and machine, which prints all lines\n"
    "--remote T    the other group's topology, for algorithms on inter-communicators\n"
    "--bytes N     of the vector, or of each block (default 1m); k, m and g may follow\n"
    "--segments S  cut into so many segments; simulate: 0 (default) as the component would\n"
    "--all-ranks   simulate every rank, even where some nodes stand for all\n";

void plan_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("hccl_plan: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n", stderr);
    va_end(args);
    exit(2);
}

static void die_with_usage(const char *what, const char *value)
{
    fprintf(stderr, "hccl_plan: %s%s\n%s", what, value, usage);
    exit(2);
}

static int number(const char *name, const char *text, int least)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if ('\0' == *text || '\0' != *end || 0 != errno || value < least || value > INT_MAX) {
        plan_die("%s takes a number of at least %d, not '%s'", name, least, text);
    }
    return (int) value;
}

size_t plan_size(const char *name, const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    int shift = 'k' == (*end | 32) ? 10 : 'm' == (*end | 32) ? 20 : 'g' == (*end | 32) ? 30 : 0;
    bool good = end != text && '-' != *text && 0 == errno;
    if (!good || '\0' != end[0 != shift] || value < 1 || value > (1ULL << 50 >> shift)) {
        plan_die("%s takes a number of at least 1, with k, m or g behind it or not, not '%s'", name,
                 text);
    }
    return (size_t) value << shift;
}

hccl_coll_t plan_collective(const char *name)
{
    for (int c = 0; c < HCCL_COLL_COUNT; c++) {
        if (0 == strcmp(name, hccl_coll_info[c].name)) {
            return (hccl_coll_t) c;
        }
    }
    die_with_usage("no such collective (see hccl_plan list): ", name);
    return HCCL_COLL_COUNT;
}

size_t plan_unit(hccl_coll_t coll, size_t bytes)
{
    return hccl_coll_info[coll].reduces && 0 == bytes % 4 ? 4 : 1;
}

const char *plan_bytes_text(size_t bytes, char text[32])
{
    static const char units[] = {'\0', 'K', 'M', 'G'};
    int unit = 0;
    while (unit < 3 && bytes >= 1024 && 0 == bytes % 1024) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, 32, "%zu%.1s", bytes, &units[unit]);
    return text;
}

hccl_shape_t *plan_shape(const char *text)
{
    char why[256];
    hccl_shape_t *shape;
    if (HCCL_OK != hccl_shape_from_text(text, -1, &shape, why, sizeof(why))) {
        plan_die("topology '%s': %s", text, why);
    }
    return shape;
}

/* ---- options ---------------------------------------------------------------------------------- */

static void read_machine(plan_options_t *o, const char *path)
{
    char why[HCCL_MACHINE_WHY];
    if (HCCL_OK != hccl_machine_read(path, &o->machine, why)) {
        plan_die("--machine %s", why);
    }
}

static void change_machine(plan_options_t *o, const char *text)
{
    char key[64], why[HCCL_MACHINE_WHY];
    const char *equals = strchr(text, '=');
    if (NULL == equals || (size_t) (equals - text) >= sizeof(key)) {
        plan_die("--set takes KEY=VALUE, not '%s'", text);
    }
    snprintf(key, sizeof(key), "%.*s", (int) (equals - text), text);
    if (HCCL_OK != hccl_machine_set(&o->machine, key, equals + 1, why)) {
        plan_die("--set %s", why);
    }
}

typedef void (*reader_t)(plan_options_t *o, const char *value);

static void read_root(plan_options_t *o, const char *value)
{
    o->root = number("--root", value, 0);
}

static void read_rank(plan_options_t *o, const char *value)
{
    o->rank = number("--rank", value, 0);
}

static void read_segments(plan_options_t *o, const char *value)
{
    o->segments = number("--segments", value, 0);
}

static void read_bytes(plan_options_t *o, const char *value)
{
    o->bytes = plan_size("--bytes", value);
}

static void read_remote(plan_options_t *o, const char *value)
{
    o->remote = value;
}

/* Options and the verbs that take them, each between blanks. */
static const struct {
    const char *name, *verbs;
    reader_t read;
} options[] = {
    {"--root", " dump show check cost simulate ", read_root},
    {"--rank", " dump show ", read_rank},
    {"--bytes", " show cost simulate ", read_bytes},
    {"--segments", " show cost simulate ", read_segments},
    {"--remote", " dump check cost ", read_remote},
    {"--machine", " show simulate machine ", read_machine},
    {"--set", " show simulate machine ", change_machine},
};
enum { OPTIONS = sizeof(options) / sizeof(options[0]) };

static bool among(const char *verbs, const char *verb)
{
    char word[32];
    snprintf(word, sizeof(word), " %s ", verb);
    return NULL != strstr(verbs, word);
}

/* An option and its value; how many words that was. */
static int read_option(plan_options_t *o, int left, char **argv)
{
    if (0 == strcmp(argv[0], "--all-ranks") && among(" simulate ", o->verb)) {
        o->all_ranks = true;
        return 1;
    }
    for (int i = 0; i < OPTIONS; i++) {
        if (0 == strcmp(argv[0], options[i].name)) {
            if (!among(options[i].verbs, o->verb)) {
                plan_die("%s is no option of %s, but of:%s", argv[0], o->verb, options[i].verbs);
            } else if (left < 2) {
                die_with_usage("no value behind ", argv[0]);
            }
            options[i].read(o, argv[1]);
            return 2;
        }
    }
    die_with_usage("no such option: ", argv[0]);
    return 0;
}

/* COLLECTIVE ALGORITHM [TOPOLOGY] */
static void read_words(plan_options_t *o)
{
    if (o->nwords < 2) {
        die_with_usage("arguments are missing behind ", o->verb);
    }
    o->coll = plan_collective(o->words[0]);
    o->algorithm = hccl_algo_find(o->coll, o->words[1]);
    if (o->algorithm < 0) {
        die_with_usage("no such algorithm of this collective (see hccl_plan list): ", o->words[1]);
    }
    o->topology = o->nwords > 2 ? o->words[2] : NULL;
    if (NULL == o->topology && '\0' != o->machine.topology[0]) {
        o->topology = o->machine.topology;
    }
    if (NULL == o->topology) {
        die_with_usage("no topology behind ", o->words[1]);
    } else if (o->nwords > 3) {
        die_with_usage("what is ", o->words[3]);
    }
}

void plan_options_read(plan_options_t *o, int argc, char **argv)
{
    static const char verbs[] = " list dump show check cost simulate machine ";
    *o = (plan_options_t){.rank = -1, .bytes = 1 << 20, .algorithm = -1};
    hccl_machine_default(&o->machine);
    if (argc < 2) {
        die_with_usage("what?", "");
    }
    o->verb = argv[1];
    if (!among(verbs, o->verb)) {
        die_with_usage("no such word: ", o->verb);
    }
    for (int i = 2; i < argc;) {
        if ('-' == argv[i][0]) {
            i += read_option(o, argc - i, argv + i);
        } else if (o->nwords < PLAN_MOST) {
            o->words[o->nwords++] = argv[i++];
        } else {
            die_with_usage("too many words: ", argv[i]);
        }
    }
    if (among(" list machine ", o->verb)) {
        if (o->nwords > 0) {
            die_with_usage("what is ", o->words[0]);
        }
    } else {
        read_words(o);
    }
}
