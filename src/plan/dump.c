/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans as text. A range of positions is written base[first,end), a publication #number.
 */
#include "plan/dump.h"

#include <stdarg.h>

typedef struct line {
    char *text;
    size_t used;
} line_t;

static void put(line_t *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(line_t *line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line->text + line->used, HCCL_DUMP_LINE - line->used, format, args);
    va_end(args);
    line->used += (size_t) n;
    if (line->used >= HCCL_DUMP_LINE) {
        line->used = HCCL_DUMP_LINE - 1;
    }
}

static void put_range(line_t *line, int base, int first, int count)
{
    if (base >= HCCL_BASE_TMP) {
        put(line, "tmp%d", base - HCCL_BASE_TMP);
    } else {
        put(line, HCCL_BASE_SEND == base ? "send" : "recv");
    }
    put(line, "[%d,%d)", first, first + count);
}

static void put_sources(line_t *line, const hccl_plan_t *plan, const hccl_step_t *step)
{
    const char *between = " =";
    for (int i = 0; i < step->nsrc && i < 8; i++) {
        const hccl_source_t *s = &plan->sources[step->src + i];
        put(line, "%s ", between);
        if (s->peer >= 0) {
            put(line, "local %d #%d[%d,%d)", s->peer, (int) s->base, s->first,
                s->first + step->count);
            if (s->first != s->pub_first) {
                put(line, " of [%d,...)", s->pub_first);
            }
        } else {
            put_range(line, s->base, s->first, step->count);
        }
        between = " op";
    }
    if (step->nsrc > 8) {
        put(line, " ... (%d sources)", step->nsrc);
    }
}

void hccl_dump_step(const hccl_plan_t *plan, int step, char text[HCCL_DUMP_LINE])
{
    static const char *const names[] = {"PUBLISH", "COPY", "FETCH", "REDUCE",
                                        "FOLD",    "SEND", "RECV",  "WAIT"};
    const hccl_step_t *s = &plan->steps[step];
    line_t line = {text, 0};
    text[0] = '\0';
    if (s->kind > HCCL_STEP_WAIT) {
        put(&line, "(kind %d)", s->kind);
        return;
    }
    put(&line, "%-7s", names[s->kind]);
    if (HCCL_HOW_WHOLE != s->how) {
        static const char *const hows[] = {"", "pieces", "parcels", "long"};
        put(&line, " %-7s", hows[s->how]);
    }
    switch ((hccl_step_kind_t) s->kind) {
    case HCCL_STEP_WAIT:
        break;
    case HCCL_STEP_PUBLISH:
        put(&line, " #%d = ", s->pub);
        put_range(&line, s->base, s->first, s->count);
        if (0 != (s->direct & HCCL_DIRECT_ALIASED)) {
            put(&line, "  (or in place)");
        } else if (0 != s->direct) {
            put(&line, "  (or in place if send is not recv)");
        }
        break;
    case HCCL_STEP_SEND:
    case HCCL_STEP_RECV:
        put(&line, " ");
        put_range(&line, s->base, s->first, s->count);
        put(&line, "%s %srank %d", HCCL_STEP_SEND == s->kind ? " to" : " from",
            0 != (s->peer & HCCL_PEER_REMOTE) ? "remote " : "", HCCL_PEER_RANK(s->peer));
        break;
    default:
        put(&line, " ");
        put_range(&line, s->base, s->first, s->count);
        put_sources(&line, plan, s);
        break;
    }
    if (s->ack > (step > 0 ? plan->steps[step - 1].ack : 0)) {
        put(&line, "  (acknowledges all below #%d)", s->ack);
    }
}

void hccl_dump_plan(FILE *file, const hccl_plan_t *plan)
{
    char text[HCCL_DUMP_LINE];
    fprintf(file,
            "blocks %d, scratch %d x %d, publications %d of up to %d, requests %d, steps %d\n",
            plan->nblocks, plan->ntmp, plan->tmp_blocks, plan->npub, plan->max_pub,
            plan->max_requests, plan->nsteps);
    if (NULL != plan->order) {
        fprintf(file, "order");
        for (int i = 0; i < plan->nblocks; i++) {
            fprintf(file, " %d", plan->order[i]);
        }
        fprintf(file, "\n");
    }
    for (int i = 0; i < plan->nsteps; i++) {
        hccl_dump_step(plan, i, text);
        fprintf(file, "%4d %s\n", i, text);
    }
}
