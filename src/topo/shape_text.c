/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the text form of a shape; topo.h has the grammar. The map is read by shape_map.c.
 *
 * Every message names the token, its position and what is accepted: the text comes from users.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/shape_parse.h"

/* Levels of the text: those of places, then "rank". */
enum { LEVEL_RANK = HCCL_LEVEL_COUNT, LEVEL_NONE = -1 };

static const struct {
    const char *name;
    int level;
} level_names[] = {
    {"node", HCCL_LEVEL_NODE}, {"package", HCCL_LEVEL_PACKAGE}, {"socket", HCCL_LEVEL_PACKAGE},
    {"numa", HCCL_LEVEL_NUMA}, {"l3", HCCL_LEVEL_L3},           {"core", HCCL_LEVEL_CORE},
    {"rank", LEVEL_RANK},
};
#define ACCEPTED_LEVELS "node, package (or socket), numa, l3, core, rank, in this order"

/* What follows the levels, in this order. */
enum { TAIL_MAP, TAIL_LEAD, TAIL_RING, TAILS };

static const char *const tail_names[TAILS] = {"map", "lead", "ring"};

typedef struct count {
    int known;
    bool unknown; /* and one object more that is not known */
} count_t;

/* How much of the text at `from` a message shows: up to the next separator, at most 24. */
static int token_length(const char *from)
{
    int len = (int) strcspn(from, " \t,()");

    if (0 == len && '\0' != *from) {
        len = 1;
    }
    return len < 24 ? len : 24;
}

int hccl_parse_fault(parser_t *p, const char *from, const char *format, ...)
{
    char token[25];
    char rest[200];
    int len = token_length(from);
    va_list args;

    for (int i = 0; i < len; i++) {
        token[i] = isprint((unsigned char) from[i]) ? from[i] : '?';
    }
    token[len] = '\0';
    va_start(args, format);
    vsnprintf(rest, sizeof(rest), format, args);
    va_end(args);
    if (NULL != p->why && 0 < p->whylen) {
        snprintf(p->why, p->whylen, "topology text, character %td, %s%s%s: %s", from - p->text + 1,
                 0 == len ? "at its end" : "\"", token, 0 == len ? "" : "\"", rest);
    }
    return HCCL_ERR_ARG;
}

void hccl_parse_blanks(parser_t *p)
{
    p->at += strspn(p->at, " \t");
}

bool hccl_parse_eat(parser_t *p, char wanted)
{
    if (wanted != *p->at) {
        return false;
    }
    p->at++;
    return true;
}

int hccl_parse_number(parser_t *p, int min, int max, const char *what, int *value)
{
    const char *from = p->at;
    long long number = 0;

    while (isdigit((unsigned char) *p->at)) {
        number = number > max ? number : 10 * number + (*p->at - '0');
        p->at++;
    }
    if (from == p->at || number < min || number > max) {
        return hccl_parse_fault(p, from, "%s must be a number from %d to %d", what, min, max);
    }
    *value = (int) number;
    return HCCL_OK;
}

static int read_count(parser_t *p, int level, const char *name, count_t *count)
{
    const char *from = p->at;
    char what[40];
    bool may_be_unknown = HCCL_LEVEL_NODE != level && LEVEL_RANK != level;

    *count = (count_t){0, false};
    if ('?' != *p->at) {
        snprintf(what, sizeof(what), "a count of %s%s", name, may_be_unknown ? ", if not ?," : "");
        int rc = hccl_parse_number(p, 1, HCCL_SHAPE_MAX_SLOTS, what, &count->known);
        if (HCCL_OK != rc) {
            return rc;
        }
    }
    count->unknown = hccl_parse_eat(p, '?');
    if (count->unknown && !may_be_unknown) {
        return hccl_parse_fault(p, from,
                                "%s can't be unknown; \"?\" is accepted after package, numa, l3 "
                                "and core",
                                name);
    }
    return HCCL_OK;
}

/* "(2,3,2)": one count for each object of the level before. */
static int read_list(parser_t *p, int level, const char *name, count_t *counts)
{
    const char *from = p->at;
    const char *parents = LEVEL_NONE == p->level ? "job" : p->level_name;

    p->at++;
    for (int i = 0;; i++) {
        hccl_parse_blanks(p);
        if (i == p->ncells) {
            return hccl_parse_fault(p, p->at,
                                    "the list gives %s more than %d count%s, one for each %s is "
                                    "accepted",
                                    name, i, 1 == i ? "" : "s", parents);
        }
        int rc = read_count(p, level, name, &counts[i]);
        if (HCCL_OK != rc) {
            return rc;
        }
        hccl_parse_blanks(p);
        if (hccl_parse_eat(p, ')')) {
            if (i + 1 < p->ncells) {
                return hccl_parse_fault(p, from,
                                        "the list gives %s %d count%s for %d %ss before it; one "
                                        "for each is needed",
                                        name, i + 1, 0 == i ? "" : "s", p->ncells, parents);
            }
            return HCCL_OK;
        }
        if (!hccl_parse_eat(p, ',')) {
            return hccl_parse_fault(p, p->at, "\",\" or \")\" is needed in the list of %s", name);
        }
    }
}

/* Replaces the cells by their children. The ids are serial numbers over the whole level. */
static int expand(parser_t *p, const char *from, int level, const count_t *counts)
{
    long long total = 0;

    for (int i = 0; i < p->ncells; i++) {
        total += counts[i].known + (counts[i].unknown ? 1 : 0);
    }
    if (total > HCCL_SHAPE_MAX_SLOTS) {
        return hccl_parse_fault(p, from, "that makes %lld places; at most %d are accepted", total,
                                HCCL_SHAPE_MAX_SLOTS);
    }
    hccl_place_t *children = malloc((size_t) total * sizeof(*children));
    if (NULL == children) {
        return HCCL_ERR_NOMEM;
    }
    int n = 0;
    for (int i = 0; i < p->ncells; i++) {
        for (int k = 0; k < counts[i].known; k++, n++) {
            children[n] = p->cells[i];
            if (LEVEL_RANK != level) {
                *hccl_place_id_at(&children[n], level) = n;
            }
        }
        if (counts[i].unknown) {
            children[n++] = p->cells[i];
        }
    }
    free(p->cells);
    p->cells = children;
    p->ncells = n;
    return HCCL_OK;
}

static int read_level(parser_t *p, int level, const char *name)
{
    const char *from = p->at;
    int rc = HCCL_OK;
    count_t *counts = malloc((size_t) p->ncells * sizeof(*counts));

    if (NULL == counts) {
        return HCCL_ERR_NOMEM;
    }
    if ('(' == *p->at) {
        rc = read_list(p, level, name, counts);
    } else {
        rc = read_count(p, level, name, &counts[0]);
        for (int i = 1; i < p->ncells; i++) {
            counts[i] = counts[0];
        }
    }
    if (HCCL_OK == rc) {
        rc = expand(p, from, level, counts);
        p->level = level;
        p->level_name = name;
    }
    free(counts);
    return rc;
}

/* Where a word is among those of a list, `n`: nowhere. */
static size_t level_at(const char *word, size_t len)
{
    const size_t n = sizeof(level_names) / sizeof(*level_names);
    size_t i = 0;

    while (
        i < n
        && (len != strlen(level_names[i].name) || 0 != strncmp(word, level_names[i].name, len))) {
        i++;
    }
    return i;
}

static int tail_at(const char *word, size_t len)
{
    int i = 0;

    while (i < TAILS && (len != strlen(tail_names[i]) || 0 != strncmp(word, tail_names[i], len))) {
        i++;
    }
    return i;
}

/* What comes after "map:", "lead:" or "ring:". */
static int read_tail(parser_t *p, const char *from, int tail, int before)
{
    if (LEVEL_NONE == p->level) {
        return hccl_parse_fault(p, from, "a level must come before %s; accepted: " ACCEPTED_LEVELS,
                                tail_names[tail]);
    }
    if (tail <= before) {
        return hccl_parse_fault(p, from, "nothing but lead, then ring, may follow map, once each");
    }
    return TAIL_MAP == tail
               ? hccl_parse_map(p)
               : hccl_parse_list(p, TAIL_LEAD == tail ? HCCL_PARSE_LEAD : HCCL_PARSE_RING);
}

static int read_levels(parser_t *p)
{
    int last_tail = -1;

    for (hccl_parse_blanks(p); '\0' != *p->at; hccl_parse_blanks(p)) {
        const char *from = p->at;
        const size_t len = strcspn(from, " \t,():");
        const size_t i = level_at(from, len);
        const int tail = tail_at(from, len);
        int rc;

        if (TAILS == tail && sizeof(level_names) / sizeof(*level_names) == i) {
            return hccl_parse_fault(
                p, from, "no such level; accepted: " ACCEPTED_LEVELS ", then map, lead, ring");
        }
        p->at += len;
        if (!hccl_parse_eat(p, ':')) {
            return hccl_parse_fault(p, from, "\":\" and a value must follow %.*s", (int) len, from);
        }
        if (TAILS != tail) {
            rc = read_tail(p, from, tail, last_tail);
            last_tail = tail;
        } else if (-1 != last_tail) {
            return hccl_parse_fault(p, from,
                                    "nothing but lead, then ring, may follow map, once each");
        } else if (level_names[i].level <= p->level) {
            return hccl_parse_fault(p, from, "%s can't come after %s; accepted: " ACCEPTED_LEVELS,
                                    level_names[i].name, p->level_name);
        } else {
            rc = read_level(p, level_names[i].level, level_names[i].name);
        }
        if (HCCL_OK != rc) {
            return rc;
        }
        if ('\0' != *p->at && ' ' != *p->at && '\t' != *p->at) {
            return hccl_parse_fault(p, p->at, "a blank or the end must follow %.*s",
                                    (int) (p->at - from < 24 ? p->at - from : 24), from);
        }
    }
    if (LEVEL_NONE == p->level) {
        return hccl_parse_fault(p, p->at,
                                "no level given; accepted: " ACCEPTED_LEVELS ", as in "
                                "\"node:4 numa:2 core:2\"");
    }
    return HCCL_OK;
}

/* Cuts the map to the ranks that there are, and puts them in their places. */
static int place_ranks(parser_t *p, int nranks, hccl_shape_t **out)
{
    int n = -1 == nranks ? p->nranks : nranks;

    if (n > p->nranks) {
        return hccl_parse_fault(p, p->at,
                                "the text has places for %d rank%s, but there are %d: give it at "
                                "least %d",
                                p->nranks, 1 == p->nranks ? "" : "s", n, n);
    }
    hccl_place_t *places = malloc((size_t) n * sizeof(*places));
    if (NULL == places) {
        return HCCL_ERR_NOMEM;
    }
    for (int rank = 0; rank < n; rank++) {
        places[rank] = p->cells[p->slot[rank]];
    }
    hccl_shape_t *shape = NULL;
    int rc = hccl_shape_from_places(places, n, &shape);
    free(places);
    rc = HCCL_OK == rc ? hccl_parse_apply(p, shape) : rc;
    if (HCCL_OK == rc) {
        *out = shape;
    } else {
        hccl_shape_free(shape);
    }
    return rc;
}

int hccl_shape_from_text(const char *text, int nranks, hccl_shape_t **out, char *why, size_t whylen)
{
    parser_t p = {.text = text, .at = text, .why = why, .whylen = whylen, .level = LEVEL_NONE};

    if (NULL == text || NULL == out || (nranks < 1 && -1 != nranks)) {
        if (NULL != why && 0 < whylen) {
            snprintf(why, whylen, "topology text for %d ranks: there must be a text and a rank",
                     nranks);
        }
        return HCCL_ERR_ARG;
    }
    p.cells = malloc(sizeof(*p.cells));
    int rc = NULL == p.cells ? HCCL_ERR_NOMEM : HCCL_OK;
    if (HCCL_OK == rc) {
        p.cells[0] = (hccl_place_t){0, -1, -1, -1, -1};
        p.ncells = 1;
        rc = read_levels(&p);
    }
    if (HCCL_OK == rc && NULL == p.slot) {
        rc = hccl_parse_no_map(&p);
    }
    if (HCCL_OK == rc) {
        rc = place_ranks(&p, nranks, out);
    }
    for (int i = 0; i < HCCL_PARSE_LISTS; i++) {
        free(p.list[i].number);
    }
    free(p.slot);
    free(p.cells);
    return rc;
}
