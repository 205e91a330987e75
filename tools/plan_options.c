/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_plan's command line.
 */
#include "plan_options.h"

#include "worlds.h"

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
    "       hccl_plan choose   COLLECTIVE [TOPOLOGY] [--sizes L] [--algorithms L] [--forced]\n"
    "       hccl_plan sweep    [COLLECTIVE...] [--nodes L] [--inside T] [--sizes L]\n"
    "                          [--algorithms L] [--csv FILE] [--plot PREFIX]\n"
    "       hccl_plan fit      TOPOLOGY FILE[:ALGORITHM]... [--keys L]\n"
    "       hccl_plan machine\n"
    "TOPOLOGY      as in `node:4 numa:2 core:2`, see src/topo/topo.h; may be left out where the\n"
    "              machine file names one\n"
    "--machine F   a machine description; --set KEY=VALUE changes a line of it. Both for show,\n"
    "              simulate, choose, sweep, fit, and machine, which prints all lines\n"
    "FILE          of hccl_test --csv, measured with the algorithm that the rules choose, or with\n"
    "              this ALGORITHM forced. fit prints the machine that comes nearest to these "
    "times\n"
    "--keys L      lines of the machine file to fit, with commas between\n"
    "--topo-file F what links between hosts cost, docs/topology.md: orders rings; simulate takes "
    "the\n"
    "              leaf switches from it, cost adds up what crosses each link. For dump, show, "
    "check,\n"
    "              cost, simulate\n"
    "--remote T    the other group's topology, for algorithms on inter-communicators\n"
    "--bytes N     of the vector, or of each block (default 1m); k, m and g may follow\n"
    "--segments S  cut into so many segments; simulate: 0 (default) as the component would\n"
    "--sizes L     sizes with commas between, A:B for all between by factors of 4 (default 8:64m)\n"
    "--nodes L     numbers of nodes with commas between, A:B by factors of 2 (default 2:256)\n"
    "--inside T    the topology of each node (default: the machine's, else core:8)\n"
    "--algorithms L  names with commas between (default: all that fit)\n"
    "--forced      as when a parameter forces an algorithm: it gets no segments of its own\n"
    "--csv FILE    one line per algorithm, size and number of nodes\n"
    "--plot PREFIX PREFIX.svg by gnuplot: which algorithm is the fastest over size and nodes\n"
    "--all-ranks   simulate every rank, even where some nodes stand for all\n"
    "--radix K, --tree-radix K, --rings N, --split P  as the parameters coll_hccl_radix, "
    "_tree_radix,\n"
    "              _rings, _split; for all that build plans\n";

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

hccl_shape_t *plan_shape_asked(const plan_options_t *o)
{
    hccl_shape_t *shape = plan_shape(o->topology);
    if (NULL == o->links || !o->links->weighted) {
        return shape;
    }
    if (o->links->nhosts != shape->nnodes) {
        plan_die("topology '%s' has %d nodes, but the topology file %d hosts", o->topology,
                 shape->nnodes, o->links->nhosts);
    }
    int *host = malloc((size_t) shape->nnodes * sizeof(*host));
    for (int v = 0; NULL != host && v < shape->nnodes; v++) {
        host[v] = v;
    }
    if (NULL == host || HCCL_OK != hccl_links_order(o->links, host, shape)) {
        plan_die("no memory");
    }
    free(host);
    return shape;
}

/* ---- options -------------------------------------------------------------------------------- */

static void read_machine(plan_options_t *o, const char *path)
{
    char why[HCCL_MACHINE_WHY];
    if (HCCL_OK != hccl_machine_read(path, &o->machine, why)) {
        plan_die("--machine %s", why);
    }
}

static void read_links(plan_options_t *o, const char *path)
{
    char why[HCCL_LINKS_WHY];
    hccl_links_free(o->links);
    if (HCCL_OK != hccl_links_read(path, &o->links, why)) {
        plan_die("--topo-file: %s", why);
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

/* A list of numbers, or of ranges A:B by a factor; how many. `name` is the option. */
static int read_list(const char *name, const char *text, size_t factor, size_t most, size_t *list)
{
    char copy[1024], *rest = copy;
    int n = 0;
    if (strlen(text) >= sizeof(copy)) {
        plan_die("%s: at most %zu characters", name, sizeof(copy) - 1);
    }
    strcpy(copy, text);
    for (char *word = strsep(&rest, ","); NULL != word; word = strsep(&rest, ",")) {
        char *last = strchr(word, ':');
        if (NULL != last) {
            *last++ = '\0';
        }
        size_t from = plan_size(name, word), to = NULL == last ? from : plan_size(name, last);
        if (to > most || from > to) {
            plan_die("%s takes numbers up to %zu, and A:B with A not above B, not '%s'", name, most,
                     text);
        }
        for (size_t at = from; at <= to; at *= factor) {
            if (PLAN_MOST == n) {
                plan_die("%s takes at most %d numbers", name, PLAN_MOST);
            }
            list[n++] = at;
        }
    }
    return n;
}

static void read_sizes(plan_options_t *o, const char *value)
{
    o->nsizes = read_list("--sizes", value, 4, (size_t) 1 << 40, o->sizes);
}

static void read_nodes(plan_options_t *o, const char *value)
{
    size_t list[PLAN_MOST];
    o->nnodes = read_list("--nodes", value, 2, HCCL_SHAPE_MAX_SLOTS, list);
    for (int i = 0; i < o->nnodes; i++) {
        o->nodes[i] = (int) list[i];
    }
}

static void read_inside(plan_options_t *o, const char *value)
{
    if (NULL != strstr(value, "node:")) {
        plan_die("--inside takes the levels below the node, not '%s'", value);
    }
    o->inside = value;
}

static void read_algorithms(plan_options_t *o, const char *value)
{
    o->algorithms = value;
}

static void read_keys(plan_options_t *o, const char *value)
{
    if (strlen(value) > 1000) {
        plan_die("--keys: at most 1000 characters");
    }
    o->keys = value;
}

static void read_csv(plan_options_t *o, const char *value)
{
    o->csv = value;
}

static void read_plot(plan_options_t *o, const char *value)
{
    if ('\0' == value[0] || strlen(value) > 1000 || NULL != strpbrk(value, "'\"\\\n")) {
        plan_die("--plot takes a path without quotes and backslashes, not '%s'", value);
    }
    o->plot = value;
}

/* As check_ranges() of the component. */
static int limited(const char *name, const char *text, int least, int most)
{
    const int value = number(name, text, least);
    if (value > most) {
        plan_die("%s takes a number up to %d, not '%s'", name, most, text);
    }
    return value;
}

static void read_radix(plan_options_t *o, const char *value)
{
    (void) o;
    world_dials.radix = limited("--radix", value, 2, HCCL_MOST_RADIX);
}

static void read_tree_radix(plan_options_t *o, const char *value)
{
    (void) o;
    world_dials.tree_radix = limited("--tree-radix", value, 2, HCCL_MOST_RADIX);
}

static void read_rings(plan_options_t *o, const char *value)
{
    (void) o;
    world_dials.rings = limited("--rings", value, 1, HCCL_MOST_RINGS);
}

static void read_split(plan_options_t *o, const char *value)
{
    (void) o;
    world_dials.network_first = 100 - limited("--split", value, 0, 100);
}

static void read_remote(plan_options_t *o, const char *value)
{
    o->remote = value;
}

/* Verbs that build plans. */
#define BUILDERS " dump show check cost simulate choose sweep fit "

/* Options and the verbs that take them, each between blanks. */
static const struct {
    const char *name, *verbs;
    reader_t read;
} options[] = {
    {"--root", " dump show check cost simulate choose sweep fit ", read_root},
    {"--rank", " dump show ", read_rank},
    {"--bytes", " show cost simulate ", read_bytes},
    {"--segments", " show cost simulate ", read_segments},
    {"--remote", " dump check cost ", read_remote},
    {"--machine", " show simulate choose sweep fit machine ", read_machine},
    {"--topo-file", " dump show check cost simulate ", read_links},
    {"--set", " show simulate choose sweep fit machine ", change_machine},
    {"--sizes", " choose sweep ", read_sizes},
    {"--nodes", " sweep ", read_nodes},
    {"--inside", " sweep ", read_inside},
    {"--algorithms", " choose sweep ", read_algorithms},
    {"--keys", " fit ", read_keys},
    {"--csv", " sweep ", read_csv},
    {"--plot", " sweep ", read_plot},
    {"--radix", BUILDERS, read_radix},
    {"--tree-radix", BUILDERS, read_tree_radix},
    {"--split", BUILDERS, read_split},
    {"--rings", BUILDERS, read_rings},
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
    if (0 == strcmp(argv[0], "--forced") && among(" choose ", o->verb)) {
        o->forced = true;
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

/* COLLECTIVE [ALGORITHM] [TOPOLOGY] */
static void read_words(plan_options_t *o, int before)
{
    if (o->nwords < before) {
        die_with_usage("arguments are missing behind ", o->verb);
    }
    o->coll = plan_collective(o->words[0]);
    o->algorithm = before < 2 ? -1 : hccl_algo_find(o->coll, o->words[1]);
    if (before > 1 && o->algorithm < 0) {
        die_with_usage("no such algorithm of this collective (see hccl_plan list): ", o->words[1]);
    }
    o->topology = o->nwords > before ? o->words[before] : NULL;
    if (NULL == o->topology && NULL != o->links && '\0' != o->links->topology[0]) {
        o->topology = o->links->topology;
    }
    if (NULL == o->topology && '\0' != o->machine.topology[0]) {
        o->topology = o->machine.topology;
    }
    if (NULL == o->topology) {
        die_with_usage("no topology behind ", o->words[before - 1]);
    } else if (o->nwords > before + 1) {
        die_with_usage("what is ", o->words[before + 1]);
    }
}

/* What is not given for a sweep. */
static void complete_lists(plan_options_t *o)
{
    if (0 == o->nsizes) {
        read_sizes(o, "8:64m");
    }
    if (0 == o->nnodes) {
        read_nodes(o, "2:256");
    }
    if (NULL == o->inside) {
        const char *levels = strchr(o->machine.topology, ' ');
        bool has = NULL != levels && 0 == strncmp(o->machine.topology, "node:", 5);
        o->inside = has ? levels + 1 : "core:8";
    }
}

void plan_options_read(plan_options_t *o, int argc, char **argv)
{
    static const char verbs[] = " list dump show check cost simulate choose sweep fit machine ";
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
    } else if (among(" fit ", o->verb)) {
        if (o->nwords < 2) {
            die_with_usage("TOPOLOGY and a FILE are missing behind ", o->verb);
        }
        o->topology = o->words[0];
    } else if (!among(" sweep ", o->verb)) {
        read_words(o, among(" choose ", o->verb) ? 1 : 2);
    }
    complete_lists(o);
}
