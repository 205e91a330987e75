/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads topology files. Messages name file, line and word: files come from users.
 */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/links.h"

/* What a link's cost is the time of. */
#define MESSAGE_BYTES 262144.0

#define LARGEST 1e9
#define ACCEPTED_LINES "topology, host, switch, within, across, link, port, and # for remarks"

enum { MAX_WORDS = 4096, NO_SWITCH = -1 };

typedef enum { UNKNOWN, BY_COST, BY_TIME } kind_t;

typedef struct reader {
    const char *path;
    char *why;
    int line;
    hccl_links_t *links;
    int *at;                 /* [nhosts][nhosts] the line of a link, 0: none */
    uint32_t within, across; /* 0: not given */
    int last[2];             /* hosts of the last link */
    kind_t kind;
    bool closed; /* no host may follow */
} reader_t;

__attribute__((format(printf, 2, 3))) static int fault(reader_t *r, const char *format, ...)
{
    char rest[HCCL_LINKS_WHY - 268];
    va_list args;

    va_start(args, format);
    vsnprintf(rest, sizeof(rest), format, args);
    va_end(args);
    if (0 < r->line) {
        snprintf(r->why, HCCL_LINKS_WHY, "topology file %.200s, line %d: %s", r->path, r->line,
                 rest);
    } else {
        snprintf(r->why, HCCL_LINKS_WHY, "topology file %.200s: %s", r->path, rest);
    }
    return HCCL_ERR_ARG;
}

/* ---- hosts ---------------------------------------------------------------------------------------- */

int hccl_links_find(const hccl_links_t *links, const char *name)
{
    const size_t len = strlen(name), stem = strcspn(name, ".");

    for (int i = 0; i < links->nhosts; i++) {
        if (0 == strcmp(links->host[i], name)) {
            return i;
        }
    }
    for (int i = 0; i < links->nhosts; i++) {
        const size_t other = strcspn(links->host[i], ".");
        const bool one_is_short = stem == len || '\0' == links->host[i][other];

        if (one_is_short && stem == other && 0 == strncmp(links->host[i], name, stem)) {
            return i;
        }
    }
    return -1;
}

static int read_hosts(reader_t *r, char **word, int n)
{
    hccl_links_t *links = r->links;

    if (r->closed) {
        return fault(r, "all host lines must come before the first of switch and link");
    }
    if (2 > n) {
        return fault(r, "host: a name must follow, or several");
    }
    for (int i = 1; i < n; i++) {
        if (0 <= hccl_links_find(links, word[i])) {
            return fault(r, "host %s is there already", word[i]);
        }
        if (HCCL_LINKS_MAX_HOSTS == links->nhosts) {
            return fault(r, "host %s: at most %d hosts are accepted", word[i],
                         HCCL_LINKS_MAX_HOSTS);
        }
        links->host[links->nhosts] = strdup(word[i]);
        if (NULL == links->host[links->nhosts]) {
            return HCCL_ERR_NOMEM;
        }
        links->nhosts++;
    }
    return HCCL_OK;
}

/* The hosts are known: room for what is between them. */
static int close_hosts(reader_t *r)
{
    const size_t n = (size_t) r->links->nhosts;

    if (r->closed) {
        return HCCL_OK;
    }
    r->closed = true;
    r->links->cost = calloc(n * n + 1, sizeof(*r->links->cost));
    r->at = calloc(n * n + 1, sizeof(*r->at));
    r->links->below = malloc((n + 1) * sizeof(*r->links->below));
    if (NULL == r->links->cost || NULL == r->at || NULL == r->links->below) {
        return HCCL_ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        r->links->below[i] = NO_SWITCH;
    }
    return HCCL_OK;
}

/* *host says where to look first, and at the next one: files come in order. */
static int find_host(reader_t *r, const char *name, int *host)
{
    for (int i = *host; i < *host + 2 && i < r->links->nhosts; i++) {
        if (0 == strcmp(r->links->host[i], name)) {
            *host = i;
            return HCCL_OK;
        }
    }
    *host = hccl_links_find(r->links, name);
    if (0 > *host) {
        return fault(r, "%s is no host of a host line above", name);
    }
    return HCCL_OK;
}

/* ---- weights -------------------------------------------------------------------------------------- */

/* strtod, whatever character the program's locale has for the decimal point. Where that cannot be had,
 * nothing is a number. */
static double read_decimal(const char *text, char **end)
{
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t) 0);

    *end = (char *) (uintptr_t) text;
    if ((locale_t) 0 == plain) {
        return 0;
    }
    const double value = strtod_l(text, end, plain);
    freelocale(plain);
    return value;
}

/* "key=number" with the wanted key. */
static int read_value(reader_t *r, const char *word, const char *key, double *value)
{
    const size_t len = strlen(key);
    char *end = NULL;

    if (0 != strncmp(word, key, len) || '=' != word[len]) {
        return fault(r, "\"%s\" where %s=NUMBER is needed", word, key);
    }
    *value = read_decimal(word + len + 1, &end);
    if (end == word + len + 1 || '\0' != *end || !(*value > 0) || !(*value <= LARGEST)) {
        return fault(r, "\"%s\": a number above 0, up to %g, is needed", word, LARGEST);
    }
    return HCCL_OK;
}

/* The words behind the hosts of a line: cost=C, or latency_us=L bandwidth_mbs=B. */
static int read_weight(reader_t *r, char **word, int n, uint32_t *cost)
{
    double first = 0, second = 0;
    const kind_t kind = 1 == n ? BY_COST : BY_TIME;

    if (1 != n && 2 != n) {
        return fault(r, "%s: cost=NUMBER, or latency_us=NUMBER bandwidth_mbs=NUMBER, must follow",
                     word[-1]);
    }
    int rc = read_value(r, word[0], BY_COST == kind ? "cost" : "latency_us", &first);
    if (HCCL_OK == rc && BY_TIME == kind) {
        rc = read_value(r, word[1], "bandwidth_mbs", &second);
    }
    if (HCCL_OK != rc) {
        return rc;
    }
    if (UNKNOWN != r->kind && kind != r->kind) {
        return fault(r, "all lines of a file give costs, or all give latencies and bandwidths");
    }
    r->kind = kind;
    const double us = BY_COST == kind ? first : first + MESSAGE_BYTES / second;
    const double units = floor(us * 1000 + 0.5);
    *cost = units < 1 ? 1 : units > UINT32_MAX ? UINT32_MAX : (uint32_t) units;
    return HCCL_OK;
}

static uint32_t *cost_at(const reader_t *r, int a, int b)
{
    return &r->links->cost[(size_t) a * (size_t) r->links->nhosts + (size_t) b];
}

static int *line_at(const reader_t *r, int a, int b)
{
    return &r->at[(size_t) a * (size_t) r->links->nhosts + (size_t) b];
}

static int read_link(reader_t *r, char **word, int n)
{
    int a = r->last[0], b = r->last[1], rc = close_hosts(r);
    uint32_t cost = 0;

    if (HCCL_OK != rc) {
        return rc;
    }
    if (4 > n) {
        return fault(r, "link: two hosts and a weight must follow, as in \"link a b cost=3\" or "
                        "\"link a b latency_us=5 bandwidth_mbs=1000\"");
    }
    rc = find_host(r, word[1], &a);
    rc = HCCL_OK == rc ? find_host(r, word[2], &b) : rc;
    rc = HCCL_OK == rc ? read_weight(r, word + 3, n - 3, &cost) : rc;
    if (HCCL_OK != rc) {
        return rc;
    }
    if (a == b) {
        return fault(r, "a link from %s to itself", word[1]);
    }
    if (0 != *line_at(r, a, b)) {
        return fault(r, "the link from %s to %s is there already, in line %d", word[1], word[2],
                     *line_at(r, a, b));
    }
    if (0 != *line_at(r, b, a) && cost != *cost_at(r, b, a)) {
        return fault(r,
                     "the link from %s to %s must weigh the same as that back, in line %d: weights "
                     "are the same both ways",
                     word[1], word[2], *line_at(r, b, a));
    }
    r->last[0] = a;
    r->last[1] = b;
    *line_at(r, a, b) = r->line;
    *cost_at(r, a, b) = *cost_at(r, b, a) = cost;
    r->links->weighted = true;
    return HCCL_OK;
}

static int read_switch(reader_t *r, char **word, int n)
{
    int host = 0, rc = close_hosts(r);

    if (HCCL_OK == rc && 2 > n) {
        return fault(r, "switch: the hosts below it must follow");
    }
    for (int i = 1; HCCL_OK == rc && i < n; i++) {
        rc = find_host(r, word[i], &host);
        if (HCCL_OK == rc && NO_SWITCH != r->links->below[host]) {
            return fault(r, "%s is below another switch already", word[i]);
        }
        if (HCCL_OK == rc) {
            r->links->below[host] = r->links->nswitches;
        }
    }
    r->links->nswitches++;
    r->links->weighted = true;
    return rc;
}

static int read_default(reader_t *r, char **word, int n)
{
    uint32_t *cost = 'w' == word[0][0] ? &r->within : &r->across;

    if (0 != *cost) {
        return fault(r, "%s is there already", word[0]);
    }
    r->links->weighted = true;
    return read_weight(r, word + 1, n - 1, cost);
}

/* What no link line gives. */
static int fill_in(reader_t *r)
{
    const hccl_links_t *links = r->links;

    r->line = 0;
    for (int a = 0; a < links->nhosts; a++) {
        for (int b = 0; b < a; b++) {
            const bool known = NO_SWITCH != r->links->below[a] && NO_SWITCH != r->links->below[b];
            const uint32_t other = !known                                     ? 0
                                   : r->links->below[a] == r->links->below[b] ? r->within
                                                                              : r->across;

            if (0 != *cost_at(r, a, b)) {
                continue;
            }
            if (0 == other) {
                return fault(r,
                             "no weight between %s and %s: a link line for them is needed, or "
                             "switch lines with both and a %s line",
                             links->host[b], links->host[a],
                             known && r->links->below[a] == r->links->below[b] ? "within"
                                                                               : "across");
            }
            *cost_at(r, a, b) = *cost_at(r, b, a) = other;
        }
    }
    return HCCL_OK;
}

/* ---- texts ---------------------------------------------------------------------------------------- */

/* The words 1, ..., n - 1 as one text. */
static char *join(char **word, int n, char between)
{
    size_t len = 1;

    for (int i = 1; i < n; i++) {
        len += strlen(word[i]) + 1;
    }
    char *text = calloc(len, 1);
    for (int i = 1; NULL != text && i < n; i++) {
        const size_t at = strlen(text);

        snprintf(text + at, len - at, "%s%s", word[i], i + 1 < n ? (char[]){between, '\0'} : "");
    }
    return text;
}

static int read_topology(reader_t *r, char **word, int n)
{
    char why[300];
    hccl_shape_t *shape;

    if ('\0' != r->links->topology[0]) {
        return fault(r, "topology is there already");
    }
    free(r->links->topology);
    r->links->topology = join(word, n, ' ');
    if (NULL == r->links->topology) {
        return HCCL_ERR_NOMEM;
    }
    int rc = hccl_shape_from_text(r->links->topology, -1, &shape, why, sizeof(why));
    if (HCCL_ERR_ARG == rc) {
        return fault(r, "%s", why);
    }
    if (HCCL_OK == rc) {
        hccl_shape_free(shape);
    }
    return rc;
}

/* "port RANKS PORT": an entry of a map. */
static int read_port(reader_t *r, char **word, int n)
{
    char why[200];
    hccl_port_name_t name;
    char *before = r->links->ports;
    const bool first = '\0' == before[0];

    if (3 != n) {
        return fault(r, "port: ranks and a port must follow, as in \"port 0-3 mlx5_0:1\"");
    }
    const size_t len = strlen(before) + strlen(word[1]) + strlen(word[2]) + 3;
    char *after = malloc(len);
    if (NULL == after) {
        return HCCL_ERR_NOMEM;
    }
    snprintf(after, len, "%s%s%s=%s", before, first ? "" : ",", word[1], word[2]);
    free(before);
    r->links->ports = after;
    if (HCCL_ERR_ARG == hccl_port_map_find(after, 0, 0, &name, why, sizeof(why))) {
        return fault(r, "port: %s", why);
    }
    return HCCL_OK;
}

/* ---- files ---------------------------------------------------------------------------------------- */

static int read_line(reader_t *r, char *text)
{
    static const struct {
        const char *word;
        int (*read)(reader_t *r, char **word, int n);
    } lines[] = {
        {"topology", read_topology}, {"host", read_hosts},     {"switch", read_switch},
        {"within", read_default},    {"across", read_default}, {"link", read_link},
        {"port", read_port},
    };
    char *word[MAX_WORDS], *rest = NULL;
    int n = 0;

    text[strcspn(text, "#\r\n")] = '\0';
    for (char *next = strtok_r(text, " \t", &rest); NULL != next;
         next = strtok_r(NULL, " \t", &rest)) {
        if (MAX_WORDS == n) {
            return fault(r, "more than %d words", MAX_WORDS);
        }
        word[n++] = next;
    }
    for (size_t i = 0; 0 < n && i < sizeof(lines) / sizeof(lines[0]); i++) {
        if (0 == strcmp(lines[i].word, word[0])) {
            return lines[i].read(r, word, n);
        }
    }
    return 0 == n ? HCCL_OK
                  : fault(r, "\"%.60s\" is no kind of line; accepted: " ACCEPTED_LINES, word[0]);
}

static int read_lines(reader_t *r, FILE *file)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t len;
    int rc = HCCL_OK;

    r->links->hash = UINT64_C(0xcbf29ce484222325);
    while (HCCL_OK == rc && 0 <= (len = getline(&text, &room, file))) {
        for (ssize_t i = 0; i < len; i++) {
            r->links->hash = (r->links->hash ^ (unsigned char) text[i]) * UINT64_C(0x100000001b3);
        }
        r->line++;
        rc = strlen(text) < (size_t) len ? fault(r, "a byte of value 0, which is no text")
                                         : read_line(r, text);
    }
    free(text);
    if (HCCL_OK == rc && 0 != ferror(file)) {
        snprintf(r->why, HCCL_LINKS_WHY, "topology file %.200s: cannot be read: %s", r->path,
                 strerror(errno));
        rc = HCCL_ERR_NOTSUP;
    }
    return rc;
}

int hccl_links_read(const char *path, hccl_links_t **out, char *why)
{
    hccl_links_t *links = calloc(1, sizeof(*links));
    reader_t r = {.path = path, .why = why, .links = links};

    snprintf(why, HCCL_LINKS_WHY, "topology file %.200s: no memory", path);
    if (NULL == links) {
        return HCCL_ERR_NOMEM;
    }
    links->host = calloc(HCCL_LINKS_MAX_HOSTS, sizeof(*links->host));
    links->topology = strdup("");
    links->ports = strdup("");
    int rc = HCCL_ERR_NOMEM;
    if (NULL != links->host && NULL != links->topology && NULL != links->ports) {
        FILE *file = fopen(path, "re");
        if (NULL == file) {
            snprintf(why, HCCL_LINKS_WHY, "topology file %.200s: cannot be read: %s", path,
                     strerror(errno));
            rc = HCCL_ERR_NOTSUP;
        } else {
            rc = read_lines(&r, file);
            fclose(file);
        }
    }
    rc = HCCL_OK == rc ? close_hosts(&r) : rc;
    if (HCCL_OK == rc && links->weighted) {
        rc = fill_in(&r);
    }
    free(r.at);
    if (HCCL_OK == rc) {
        *out = links;
    } else {
        hccl_links_free(links);
    }
    return rc;
}

void hccl_links_free(hccl_links_t *links)
{
    if (NULL == links) {
        return;
    }
    for (int i = 0; NULL != links->host && i < links->nhosts; i++) {
        free(links->host[i]);
    }
    free(links->host);
    free(links->cost);
    free(links->below);
    free(links->topology);
    free(links->ports);
    free(links);
}
