/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See options.h.
 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hccl_bench_refuse(char *message, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, HCCL_BENCH_MESSAGE, format, arguments);
    va_end(arguments);
    return false;
}

bool hccl_bench_parse_number(const char *text, long least, long most, long *number)
{
    char *end;

    errno = 0;
    *number = strtol(text, &end, 10);
    return end != text && '\0' == *end && 0 == errno && least <= *number && *number <= most;
}

static bool take_number(struct hccl_bench_options *o, const char *flag, const char *text,
                        long least, long most, long *number)
{
    if (hccl_bench_parse_number(text, least, most, number)) {
        return true;
    }
    return hccl_bench_refuse(o->message, "%s %s: accepted are whole numbers from %ld to %ld", flag,
                             text, least, most);
}

bool hccl_bench_parse_bytes(const char *text, size_t *bytes)
{
    char *end;
    int shift = 0;

    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    const char *suffix = '\0' == *end ? NULL : strchr("kKmMgG", *end);
    if (NULL != suffix && end != text) {
        shift = 'k' == (*suffix | 32) ? 10 : 'm' == (*suffix | 32) ? 20 : 30;
        end++;
        end += 'B' == *end;
    }
    *bytes = (size_t) (number << shift);
    return end != text && '\0' == *end && 0 == errno && '-' != *text
           && number <= (unsigned long long) INT64_MAX >> shift;
}

static bool take_bytes(struct hccl_bench_options *o, const char *flag, const char *text,
                       size_t least, size_t *bytes)
{
    if (!hccl_bench_parse_bytes(text, bytes) || *bytes < least) {
        return hccl_bench_refuse(
            o->message, "%s %s: accepted are bytes from %zu up, with K, M or G for powers of 1024",
            flag, text, least);
    }
    return true;
}

static bool take_factor(struct hccl_bench_options *o, const char *text)
{
    char *end;

    o->factor = strtod(text, &end);
    if (end == text || '\0' != *end || !(1.01 <= o->factor && o->factor <= 1024)) {
        return hccl_bench_refuse(o->message, "-f %s: accepted are factors from 1.01 to 1024", text);
    }
    /* 1.19 means a quarter of an octave, and then the powers of two are met exactly. */
    for (int parts = 2; parts <= 4; parts++) {
        double exact = exp2(1.0 / parts);
        if (fabs(o->factor - exact) < 0.005) {
            o->factor = exact;
        }
    }
    o->step = 0;
    return true;
}

/* Appends the names of one of the tables to the message. */
#define NAMES(o, table, Entry)                                                           \
    for (const Entry *entry_ = (table); NULL != entry_->name; entry_++) {                \
        size_t used_ = strlen((o)->message);                                             \
        snprintf((o)->message + used_, sizeof(o)->message - used_, " %s", entry_->name); \
    }

static bool take_type(struct hccl_bench_options *o, const char *text)
{
    o->type = hccl_bench_type_find(text);
    if (NULL == o->type) {
        hccl_bench_refuse(o->message, "-d %.100s: accepted are", text);
        NAMES(o, hccl_bench_types, struct hccl_bench_type)
        return false;
    }
    return true;
}

static bool take_op(struct hccl_bench_options *o, const char *text)
{
    o->op = hccl_bench_op_find(text);
    if (NULL == o->op) {
        hccl_bench_refuse(o->message, "-o %.100s: accepted are", text);
        NAMES(o, hccl_bench_ops, struct hccl_bench_op)
        return false;
    }
    return true;
}

static bool take_root(struct hccl_bench_options *o, const char *text)
{
    long root = -1;

    if (0 != strcmp(text, "all") && !hccl_bench_parse_number(text, 0, INT32_MAX, &root)) {
        return hccl_bench_refuse(o->message, "-r %s: accepted are a rank of the job, or all", text);
    }
    o->root = (int) root;
    return true;
}

/* Calls take(o, word) for each word of a comma list. */
static bool take_list(struct hccl_bench_options *o, const char *text,
                      bool (*take)(struct hccl_bench_options *, const char *))
{
    char copy[1024], *rest = copy, *word;

    snprintf(copy, sizeof copy, "%s", text);
    while (NULL != (word = strsep(&rest, ","))) {
        if (!take(o, word)) {
            return false;
        }
    }
    return true;
}

static bool take_mode(struct hccl_bench_options *o, const char *word)
{
    for (int mode = 0; mode < HCCL_BENCH_MODES; mode++) {
        if (0 == strcmp(word, hccl_bench_mode_names[mode])) {
            o->modes[mode] = true;
            if (HCCL_BENCH_PERSISTENT == mode && !hccl_bench_has_persistent()) {
                return hccl_bench_refuse(o->message,
                                         "-m persistent: this MPI has no persistent collectives");
            }
            return true;
        }
    }
    return hccl_bench_refuse(
        o->message, "-m %s: accepted are blocking, nonblocking and persistent, also in a list",
        word);
}

static bool add_collective(struct hccl_bench_options *o, const struct hccl_bench_collective *c)
{
    if (HCCL_BENCH_LIST == o->listed) {
        return hccl_bench_refuse(o->message, "%s: more than %d collectives", c->name,
                                 HCCL_BENCH_LIST);
    }
    o->list[o->listed++] = c;
    return true;
}

static bool take_collective(struct hccl_bench_options *o, const char *word)
{
    const struct hccl_bench_collective *c = hccl_bench_collective_find(word);

    if (NULL == c) {
        hccl_bench_refuse(o->message, "%.100s is no collective: accepted are all", word);
        NAMES(o, hccl_bench_collectives, struct hccl_bench_collective)
        return false;
    }
    if (o->in_place && !hccl_bench_has_in_place(c->layout)) {
        return hccl_bench_refuse(o->message, "-p: %s has no in-place form", word);
    }
    return add_collective(o, c);
}

static bool take_collectives(struct hccl_bench_options *o, int count, char **words)
{
    if (1 != count) {
        return 0 == count
                   ? hccl_bench_refuse(o->message, "which collective? (hccl_test -h lists them)")
                   : hccl_bench_refuse(o->message,
                                       "%s: one list of collectives is accepted, joined by commas",
                                       words[1]);
    }
    if (0 != strcmp(words[0], "all")) {
        return take_list(o, words[0], take_collective);
    }
    for (const struct hccl_bench_collective *c = hccl_bench_collectives; NULL != c->name; c++) {
        if (!o->in_place || hccl_bench_has_in_place(c->layout)) {
            add_collective(o, c);
        }
    }
    return true;
}

enum { BATCH = 256, WINDOW, OFFSET, MEMORY, NET, CSV, CONTROL, VERSUS, SELECT, RANKS, ROUNDS };

static const struct option long_options[] = {{"help", no_argument, NULL, 'h'},
                                             {"in-place", no_argument, NULL, 'p'},
                                             {"batch", required_argument, NULL, BATCH},
                                             {"window", required_argument, NULL, WINDOW},
                                             {"offset", required_argument, NULL, OFFSET},
                                             {"memory", required_argument, NULL, MEMORY},
                                             {"net", required_argument, NULL, NET},
                                             {"csv", required_argument, NULL, CSV},
                                             {"control", required_argument, NULL, CONTROL},
                                             {"versus", required_argument, NULL, VERSUS},
                                             {"select", required_argument, NULL, SELECT},
                                             {"np", required_argument, NULL, RANKS},
                                             {"rounds", required_argument, NULL, ROUNDS},
                                             {NULL, 0, NULL, 0}};

static bool take_long(struct hccl_bench_options *o, int option, const char *text)
{
    long number = 0;
    bool fine = true;

    switch (option) {
    case BATCH:
        return take_number(o, "--batch", text, 1, 100000, &o->batch);
    case WINDOW:
        return take_number(o, "--window", text, 1, 10000, &o->window);
    case OFFSET:
        fine = take_number(o, "--offset", text, 0, 64, &number);
        o->offset = (size_t) number;
        return fine;
    case MEMORY:
        o->mpi_memory = 0 == strcmp(text, "mpi");
        return o->mpi_memory || 0 == strcmp(text, "malloc")
               || hccl_bench_refuse(o->message, "--memory %s: accepted are malloc and mpi", text);
    case NET:
        o->net = text;
        return true;
    case CSV:
        o->csv = text;
        return true;
    case CONTROL:
        o->control = text;
        return true;
    case VERSUS:
        o->versus = text;
        return true;
    case SELECT:
        o->select = text;
        return true;
    case RANKS:
        fine = take_number(o, "--np", text, 1, 4096, &number);
        o->ranks = (int) number;
        return fine;
    default:
        return take_number(o, "--rounds", text, 5, 1000, &o->rounds);
    }
}

static bool take_option(struct hccl_bench_options *o, int option, const char *text)
{
    long number = 0;

    switch (option) {
    case 'b':
        return take_bytes(o, "-b", text, 0, &o->least);
    case 'e':
        return take_bytes(o, "-e", text, 0, &o->most);
    case 'f':
        return take_factor(o, text);
    case 'i':
        return take_bytes(o, "-i", text, 1, &o->step);
    case 'n':
        return take_number(o, "-n", text, 1, 100000000, &o->iterations);
    case 'w':
        return take_number(o, "-w", text, 0, 100000000, &o->warmup);
    case 'd':
        return take_type(o, text);
    case 'o':
        return take_op(o, text);
    case 'r':
        return take_root(o, text);
    case 'c':
        if (!take_number(o, "-c", text, 0, 1, &number)) {
            return false;
        }
        o->check = 1 == number;
        return true;
    case 'p':
        o->in_place = true;
        return true;
    case 'm':
        return take_list(o, text, take_mode);
    case 'h':
        o->help = true;
        return true;
    default:
        return take_long(o, option, text);
    }
}

bool hccl_bench_options_parse(struct hccl_bench_options *o, int argc, char **argv)
{
    int option;

    *o = (struct hccl_bench_options){.least = 8,
                                     .most = (size_t) 4 << 20,
                                     .factor = 2,
                                     .warmup = 10,
                                     .type = hccl_bench_type_find("fp32"),
                                     .op = hccl_bench_op_find("sum"),
                                     .root = -1,
                                     .check = true,
                                     .select = "coll hccl",
                                     .rounds = 7};
    optind = 0; /* GNU: start anew, whoever has parsed before */
    opterr = 0;
    while (-1
           != (option = getopt_long(argc, argv, ":b:e:f:i:n:w:d:o:r:c:m:ph", long_options, NULL))) {
        if (':' == option) {
            return hccl_bench_refuse(o->message, "%s needs a value", argv[optind - 1]);
        }
        if ('?' == option) {
            return 0 < optopt && optopt < 256
                       ? hccl_bench_refuse(o->message, "-%c is no option (hccl_test -h lists them)",
                                           optopt)
                       : hccl_bench_refuse(o->message, "%s is no option (hccl_test -h lists them)",
                                           argv[optind - 1]);
        }
        if (!take_option(o, option, optarg)) {
            return false;
        }
    }
    if (o->help) {
        return true;
    }
    if (o->most < o->least) {
        return hccl_bench_refuse(o->message, "-b %zu is above -e %zu", o->least, o->most);
    }
    bool any = o->modes[0] || o->modes[1] || o->modes[2];
    o->modes[0] = o->modes[0] || !any;
    return take_collectives(o, argc - optind, argv + optind);
}

bool hccl_bench_options_fit(struct hccl_bench_options *o, int ranks)
{
    if (ranks <= o->root) {
        return hccl_bench_refuse(o->message,
                                 "-r %d: accepted are 0 to %d in a job of %d ranks, or all",
                                 o->root, ranks - 1, ranks);
    }
    return true;
}

/* The nearest multiple of the type's size, and no less than one element. */
static size_t whole(const struct hccl_bench_options *o, double bytes)
{
    double size = (double) o->type->size;
    double elements = floor(bytes / size + 0.5);

    return (size_t) ((0 < bytes && elements < 1 ? 1 : elements) * size);
}

size_t hccl_bench_options_first(const struct hccl_bench_options *o,
                                const struct hccl_bench_collective *c)
{
    return HCCL_BENCH_NOTHING == c->layout ? 0 : whole(o, (double) o->least);
}

/* The k-th size is least * factor^k, rounded, not the rounded size before times the factor: small
 * sizes would otherwise never grow. */
size_t hccl_bench_options_next(const struct hccl_bench_options *o,
                               const struct hccl_bench_collective *c, size_t bytes, bool *more)
{
    size_t next = bytes;

    if (HCCL_BENCH_NOTHING == c->layout) {
        *more = false;
        return 0;
    }
    if (0 < o->step) {
        while (next <= bytes) {
            next += o->step > o->type->size ? o->step : o->type->size;
            next = whole(o, (double) next);
        }
    } else if (0 == bytes) {
        next = o->type->size;
    } else {
        double exact = (double) (0 < o->least ? o->least : o->type->size);
        double first = exact;
        for (int k = 1; whole(o, exact) <= bytes; k++) {
            exact = first * pow(o->factor, k);
        }
        next = whole(o, exact);
    }
    *more = next <= o->most;
    return next;
}
