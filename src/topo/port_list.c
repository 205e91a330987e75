/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads lists and maps of RDMA ports; topo.h has the grammar.
 *
 * Refuses to know which ports there are. Messages name the entry: the text comes from users.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/topo.h"

enum { MAX_PORT_NUMBER = 255, MAX_RANK = 1 << 30 };

/* One entry of a list or map. */
typedef struct entry {
    const char *from;
    int len;
    bool has_ranks;
    int first, last;
    hccl_port_name_t name;
} entry_t;

bool hccl_port_is_named(const hccl_port_t *port, const hccl_port_name_t *name)
{
    return 0 == strcmp(port->name, name->device)
           && (0 == name->number || port->number == name->number);
}

bool hccl_port_list_allows(const hccl_port_list_t *list, const hccl_port_t *port)
{
    bool named = false;

    for (int i = 0; i < list->n; i++) {
        named = named || hccl_port_is_named(port, &list->name[i]);
    }
    return 0 == list->n || named != list->excludes;
}

static int refuse(const entry_t *e, const char *accepted, char *why, size_t whylen)
{
    if (NULL != why && 0 < whylen) {
        snprintf(why, whylen, "entry \"%.*s\": %s", e->len < 40 ? e->len : 40, e->from, accepted);
    }
    return HCCL_ERR_ARG;
}

/* Digits up to `end`. False: none, others, or above max. */
static bool read_number(const char **at, const char *end, int max, int *value)
{
    long long number = 0;
    const char *from = *at;

    while (*at < end && isdigit((unsigned char) **at) && number <= max) {
        number = 10 * number + *(*at)++ - '0';
    }
    *value = (int) (number <= max ? number : 0);
    return from < *at && number <= max;
}

/* "0-3=" or "5=" at the beginning of an entry. */
static bool read_ranks(const char **at, const char *end, entry_t *e)
{
    bool right = read_number(at, end, MAX_RANK, &e->first);

    e->last = e->first;
    if (right && *at < end && '-' == **at) {
        ++*at;
        right = read_number(at, end, MAX_RANK, &e->last);
    }
    right = right && *at < end && '=' == **at && e->first <= e->last;
    *at += right ? 1 : 0;
    return right;
}

static int read_entry(entry_t *e, char *why, size_t whylen)
{
    const char *at = e->from, *end = e->from + e->len;
    int number = 0;

    e->has_ranks = NULL != memchr(at, '=', (size_t) e->len);
    if (e->has_ranks && !read_ranks(&at, end, e)) {
        return refuse(e,
                      "ranks must be a number or two with - between, the lower one first, then =",
                      why, whylen);
    }
    const char *colon = memchr(at, ':', (size_t) (end - at));
    const size_t len = (size_t) ((NULL == colon ? end : colon) - at);
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char) at[i]) && '_' != at[i] && '-' != at[i] && '.' != at[i]) {
            return refuse(e, "a device name has letters, digits, _, - and .", why, whylen);
        }
    }
    if (0 == len || len >= HCCL_PORT_NAME) {
        return refuse(e, "a device name of 1 to 15 characters is needed, as in mlx5_0:1", why,
                      whylen);
    }
    memset(&e->name, 0, sizeof(e->name));
    memcpy(e->name.device, at, len);
    at = colon;
    if (NULL != colon
        && (at++, !read_number(&at, end, MAX_PORT_NUMBER, &number) || at != end || 0 == number)) {
        return refuse(e, "the number of a port, after :, is 1 to 255", why, whylen);
    }
    e->name.number = (uint8_t) number;
    return HCCL_OK;
}

/* The entry that begins at `from`; where the next one begins, NULL: there is none. */
static const char *cut(const char *from, entry_t *e)
{
    const char *comma = strchr(from, ',');

    *e = (entry_t){.from = from,
                   .len = (int) (NULL == comma ? strlen(from) : (size_t) (comma - from))};
    return NULL == comma ? NULL : comma + 1;
}

int hccl_port_list_read(const char *text, hccl_port_list_t *list, char *why, size_t whylen)
{
    entry_t e;

    memset(list, 0, sizeof(*list));
    if (NULL == text || '\0' == text[0]) {
        return HCCL_OK;
    }
    list->excludes = '^' == text[0];
    for (const char *at = text + (list->excludes ? 1 : 0); NULL != at;) {
        at = cut(at, &e);
        const int rc = read_entry(&e, why, whylen);
        if (HCCL_OK != rc) {
            return rc;
        }
        if (e.has_ranks || HCCL_MAX_NAMES == list->n) {
            return refuse(&e,
                          e.has_ranks ? "ranks are not accepted here" : "at most 32 are accepted",
                          why, whylen);
        }
        list->name[list->n++] = e.name;
    }
    return HCCL_OK;
}

int hccl_port_map_find(const char *text, int rank, int index, hccl_port_name_t *name, char *why,
                       size_t whylen)
{
    hccl_port_name_t found = {.device = ""};
    entry_t e;
    int n = 0, rc = HCCL_OK;
    bool by_rank = false;

    memset(name, 0, sizeof(*name));
    for (const char *at = NULL == text || '\0' == text[0] ? NULL : text;
         NULL != at && HCCL_OK == rc; n++) {
        at = cut(at, &e);
        rc = read_entry(&e, why, whylen);
        if (HCCL_OK == rc && 0 < n && e.has_ranks != by_rank) {
            rc = refuse(&e, "either all entries of a map have ranks, or none", why, whylen);
        }
        by_rank = e.has_ranks;
        if (HCCL_OK == rc && by_rank && e.first <= rank && rank <= e.last) {
            found = e.name;
        }
    }
    if (HCCL_OK != rc) {
        return rc;
    }
    const char *at = text;
    for (int i = 0; 0 < n && !by_rank && i <= index % n; i++) {
        at = cut(at, &e);
        rc = read_entry(&e, why, whylen);
        found = e.name;
    }
    *name = found;
    return rc;
}
