/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See versus_files.h.
 */
#include "versus_files.h"

#include <errno.h>
#include <string.h>

static bool open_one(FILE **file, const char *name)
{
    *file = NULL == name ? NULL : fopen(name, "w");
    return NULL == name || NULL != *file;
}

const char *hccl_bench_files_open(struct hccl_bench_files *f,
                                  const struct hccl_bench_versus_options *o)
{
    memset(f, 0, sizeof *f);
    if (!open_one(&f->csv, o->test.csv)) {
        return "--csv";
    }
    if (!open_one(&f->json, o->json)) {
        return "--json";
    }
    if (!open_one(&f->windows, o->windows)) {
        return "--windows";
    }
    if (NULL != f->csv) {
        fprintf(f->csv,
                "collective,mode,ranks,type,op,in_place,offset,bytes,contender,served,same_as,"
                "p5_us,p5_low_us,p5_high_us,median_us,median_low_us,median_high_us,ratio_p5,"
                "ratio_p5_low,ratio_p5_high,ratio_median,ratio_median_low,"
                "ratio_median_high,best_p5,best_median,rounds_kept,rounds_tried,unsteady,"
                "flag_low_ns,flag_high_ns,limit_us,copy_us,wrong,options\n");
    }
    if (NULL != f->json) {
        fprintf(f->json, "[");
    }
    if (NULL != f->windows) {
        fprintf(f->windows, "collective,mode,bytes,round,place,contender,iterations,batch,min_us,"
                            "p5_us,median_us,max_us,flag_before_ns,flag_after_ns,wrong,counted\n");
    }
    return NULL;
}

static void csv_stats(FILE *csv, const struct hccl_bench_stats *s, bool measured)
{
    if (measured) {
        fprintf(csv, "%.4f,%.4f,%.4f,", s->median, s->min, s->max);
    } else {
        fprintf(csv, ",,,");
    }
}

/* In quotes, of which those inside are doubled. */
static void csv_text(FILE *csv, const char *text)
{
    fputc('"', csv);
    for (; '\0' != *text; text++) {
        if ('"' == *text) {
            fputc('"', csv);
        }
        fputc(*text, csv);
    }
    fputc('"', csv);
}

static void csv_side(FILE *csv, const struct hccl_bench_versus_options *o,
                     const struct hccl_bench_row *row, int i)
{
    const struct hccl_bench_side *s = &row->sides[i];
    const struct hccl_bench_options *t = &o->test;

    fprintf(csv, "%s,%s,%d,%s,%s,%d,%zu,%zu,%s,%s,%s,", row->collective, row->mode, o->ranks,
            t->type->name, t->op->name, t->in_place, t->offset, row->bytes, o->contenders[i].name,
            s->served, 0 <= s->same ? o->contenders[s->same].name : "");
    csv_stats(csv, &s->p5, s->measured);
    csv_stats(csv, &s->median, s->measured);
    csv_stats(csv, &s->ratio_p5, s->measured);
    csv_stats(csv, &s->ratio_median, s->measured);
    fprintf(csv, "%d,%d,%d,%d,%d,%.1f,%.1f,%.4f,%.4f,%.0f,", i == row->best_p5 && 0 < i,
            i == row->best_median && 0 < i, row->kept, row->tried, row->unstable, row->flag_low,
            row->flag_high, row->limit, row->through, s->wrong);
    csv_text(csv, o->contenders[i].job.options);
    fputc('\n', csv);
}

static void json_text(FILE *json, const char *text)
{
    fputc('"', json);
    for (; '\0' != *text; text++) {
        if ('"' == *text || '\\' == *text) {
            fputc('\\', json);
        }
        fputc((unsigned char) *text < ' ' ? ' ' : *text, json);
    }
    fputc('"', json);
}

static void json_stats(FILE *json, const char *name, const struct hccl_bench_stats *s)
{
    fprintf(json, ", \"%s\": [%.4f, %.4f, %.4f]", name, s->median, s->min, s->max);
}

static void json_side(FILE *json, const struct hccl_bench_versus_options *o,
                      const struct hccl_bench_row *row, int i)
{
    const struct hccl_bench_side *s = &row->sides[i];

    fprintf(json,
            "%s\n   {\"contender\": \"%s\", \"served\": \"%s\", \"options\": ", 0 == i ? "" : ",",
            o->contenders[i].name, s->served);
    json_text(json, o->contenders[i].job.options);
    if (0 <= s->same) {
        fprintf(json, ", \"same_as\": \"%s\"", o->contenders[s->same].name);
    }
    if (s->measured) {
        json_stats(json, "p5_us", &s->p5);
        json_stats(json, "median_us", &s->median);
        json_stats(json, "ratio_p5", &s->ratio_p5);
        json_stats(json, "ratio_median", &s->ratio_median);
        fprintf(json, ", \"wrong\": %.0f", s->wrong);
    }
    fprintf(json, "}");
}

/* One object per row; [median, lowest, highest over rounds] where a number has a spread. */
static void json_row(struct hccl_bench_files *f, const struct hccl_bench_versus_options *o,
                     const struct hccl_bench_row *row)
{
    fprintf(f->json,
            "%s\n {\"collective\": \"%s\", \"mode\": \"%s\", \"ranks\": %d, \"type\": \"%s\", "
            "\"op\": \"%s\", \"in_place\": %s, \"offset\": %zu, \"bytes\": %zu,\n  \"best_p5\": "
            "\"%s\", \"best_median\": \"%s\", \"rounds_kept\": %d, \"rounds_tried\": %d, "
            "\"unsteady\": %s, \"flag_ns\": [%.1f, %.1f, %.1f], \"limit_us\": %.4f, \"copy_us\": "
            "%.4f,\n  \"contenders\": [",
            0 == f->json_rows++ ? "" : ",", row->collective, row->mode, o->ranks,
            o->test.type->name, o->test.op->name, o->test.in_place ? "true" : "false",
            o->test.offset, row->bytes, 0 < row->best_p5 ? o->contenders[row->best_p5].name : "",
            0 < row->best_median ? o->contenders[row->best_median].name : "", row->kept, row->tried,
            row->unstable ? "true" : "false", row->flag, row->flag_low, row->flag_high, row->limit,
            row->through);
    for (int i = 0; i < row->count; i++) {
        json_side(f->json, o, row, i);
    }
    fprintf(f->json, "]}");
}

void hccl_bench_files_row(struct hccl_bench_files *f, const struct hccl_bench_versus_options *o,
                          const struct hccl_bench_row *row)
{
    for (int i = 0; NULL != f->csv && i < row->count; i++) {
        csv_side(f->csv, o, row, i);
    }
    if (NULL != f->csv) {
        fflush(f->csv);
    }
    if (NULL != f->json) {
        json_row(f, o, row);
    }
}

void hccl_bench_files_round(struct hccl_bench_files *f, const struct hccl_bench_versus_options *o,
                            const struct hccl_bench_row *row, int round,
                            const struct hccl_bench_round *r, const int *order)
{
    for (int place = 0; NULL != f->windows && place < row->count; place++) {
        int i = order[place];
        const struct hccl_bench_answer *a = &r->of[i];
        if (r->measured[i]) {
            fprintf(f->windows,
                    "%s,%s,%zu,%d,%d,%s,%ld,%ld,%.4f,%.4f,%.4f,%.4f,%.1f,%.1f,%.0f,%d\n",
                    row->collective, row->mode, row->bytes, round, place, o->contenders[i].name,
                    a->iterations, a->batch, a->min, a->p5, a->median, a->max, a->flag_before,
                    a->flag_after, a->wrong, hccl_bench_round_steady(r, row->count));
        }
    }
}

static bool close_one(FILE *file)
{
    if (NULL == file) {
        return true;
    }
    bool fine = 0 == ferror(file);
    return 0 == fclose(file) && fine;
}

bool hccl_bench_files_close(struct hccl_bench_files *f)
{
    if (NULL != f->json) {
        fprintf(f->json, "\n]\n");
    }
    bool csv = close_one(f->csv), json = close_one(f->json), windows = close_one(f->windows);
    return csv && json && windows;
}
