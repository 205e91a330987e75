/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See fit.h. Levenberg and Marquardt's method on the logarithms of the constants: so they stay
 * positive, and a factor counts alike for a latency and for a bandwidth. Derivatives are
 * differences. The weights (Huber, "Robust estimation of a location parameter", 1964) are of
 * residuals in units of their median.
 */
#include "fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROUNDS = 6, ROUNDS = 60 };

#define DIFFERENCE 0.02 /* of a constant, for a derivative */
#define NO_EFFECT 1e-4  /* derivatives below it say nothing */

typedef struct fit {
    hccl_machine_t *machine;
    hccl_fit_key_t *keys;
    int nkeys;
    hccl_fit_row_t *rows;
    int nrows;
    double *residual; /* [nrows] */
    double *slope;    /* [nkeys][nrows] */
    double *trial;    /* [nrows] */
    char *why;
} fit_t;

/* log(predicted / measured) of all rows. */
static int residuals(const fit_t *f, const hccl_machine_t *machine, double *out)
{
    for (int i = 0; i < f->nrows; i++) {
        const hccl_fit_row_t *row = &f->rows[i];
        hccl_sim_report_t report;
        hccl_sim_setup_t setup = {.machine = machine,
                                  .bytes = row->bytes,
                                  .segment = row->segment,
                                  .unit =
                                      hccl_sim_unit(hccl_sim_collective(row->program), row->bytes)};
        int rc = hccl_sim_run(row->program, &setup, &report, f->why);
        if (HCCL_OK != rc) {
            return rc;
        }
        out[i] = log((report.seconds > 0 ? report.seconds : 1e-12) / row->measured);
    }
    return HCCL_OK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return x < y ? -1 : x > y ? 1 : 0;
}

/* Residuals beyond 2 medians (at least 1 %) count less and less. */
static void set_weights(fit_t *f)
{
    for (int i = 0; i < f->nrows; i++) {
        f->trial[i] = fabs(f->residual[i]);
    }
    qsort(f->trial, (size_t) f->nrows, sizeof(*f->trial), by_value);
    double limit = 2 * f->trial[f->nrows / 2];
    limit = limit > 0.01 ? limit : 0.01;
    for (int i = 0; i < f->nrows; i++) {
        double size = fabs(f->residual[i]);
        f->rows[i].weight = size > limit ? limit / size : 1;
    }
}

static double sum_of_squares(const fit_t *f, const double *residual)
{
    double sum = 0;
    for (int i = 0; i < f->nrows; i++) {
        sum += f->rows[i].weight * residual[i] * residual[i];
    }
    return sum;
}

static int slopes(fit_t *f)
{
    for (int k = 0; k < f->nkeys; k++) {
        hccl_machine_t other = *f->machine;
        double *slope = f->slope + (size_t) k * (size_t) f->nrows, most = 0;
        *hccl_machine_number(&other, f->keys[k].name) *= exp(DIFFERENCE);
        int rc = residuals(f, &other, slope);
        if (HCCL_OK != rc) {
            return rc;
        }
        for (int i = 0; i < f->nrows; i++) {
            slope[i] = (slope[i] - f->residual[i]) / DIFFERENCE;
            most = fabs(slope[i]) > most ? fabs(slope[i]) : most;
        }
        f->keys[k].known = most > NO_EFFECT;
    }
    return HCCL_OK;
}

/* Solves a x = b by elimination with pivots; rows of zeros give 0. */
static void solve(int n, double a[HCCL_FIT_KEYS][HCCL_FIT_KEYS], double b[HCCL_FIT_KEYS],
                  double x[HCCL_FIT_KEYS])
{
    for (int c = 0; c < n; c++) {
        int pivot = c;
        for (int r = c + 1; r < n; r++) {
            pivot = fabs(a[r][c]) > fabs(a[pivot][c]) ? r : pivot;
        }
        for (int j = 0; j < n && pivot != c; j++) {
            double other = a[c][j];
            a[c][j] = a[pivot][j];
            a[pivot][j] = other;
        }
        double other = b[c];
        b[c] = b[pivot];
        b[pivot] = other;
        for (int r = c + 1; r < n && fabs(a[c][c]) > 0; r++) {
            double factor = a[r][c] / a[c][c];
            for (int j = c; j < n; j++) {
                a[r][j] -= factor * a[c][j];
            }
            b[r] -= factor * b[c];
        }
    }
    for (int r = n - 1; r >= 0; r--) {
        double sum = b[r];
        for (int j = r + 1; j < n; j++) {
            sum -= a[r][j] * x[j];
        }
        x[r] = fabs(a[r][r]) > 0 ? sum / a[r][r] : 0;
    }
}

/* The step that the slopes suggest, held back by `damping`. */
static void step(const fit_t *f, double damping, double x[HCCL_FIT_KEYS])
{
    double a[HCCL_FIT_KEYS][HCCL_FIT_KEYS], b[HCCL_FIT_KEYS];
    for (int k = 0; k < f->nkeys; k++) {
        const double *mine = f->slope + (size_t) k * (size_t) f->nrows;
        b[k] = 0;
        for (int i = 0; i < f->nrows; i++) {
            b[k] -= f->rows[i].weight * mine[i] * f->residual[i];
        }
        for (int j = 0; j < f->nkeys; j++) {
            const double *other = f->slope + (size_t) j * (size_t) f->nrows;
            a[k][j] = 0;
            for (int i = 0; i < f->nrows; i++) {
                a[k][j] += f->rows[i].weight * mine[i] * other[i];
            }
        }
        a[k][k] += damping * (a[k][k] + 1e-9);
        if (!f->keys[k].known) {
            b[k] = 0;
        }
    }
    solve(f->nkeys, a, b, x);
    for (int k = 0; k < f->nkeys; k++) {
        x[k] = x[k] > 1 ? 1 : x[k] < -1 ? -1 : x[k]; /* a factor of e at a time */
    }
}

/* One improvement, with more and more damping until there is one. False: none was found. */
static int improve(fit_t *f, double *damping, bool *better)
{
    double now = sum_of_squares(f, f->residual), x[HCCL_FIT_KEYS];
    *better = false;
    for (int i = 0; i < 8 && !*better; i++) {
        hccl_machine_t other = *f->machine;
        step(f, *damping, x);
        for (int k = 0; k < f->nkeys; k++) {
            *hccl_machine_number(&other, f->keys[k].name) *= exp(x[k]);
        }
        int rc = residuals(f, &other, f->trial);
        if (HCCL_OK != rc) {
            return rc;
        }
        if (sum_of_squares(f, f->trial) < now * (1 - 1e-7)) {
            *f->machine = other;
            memcpy(f->residual, f->trial, (size_t) f->nrows * sizeof(*f->residual));
            *damping = *damping / 5 > 1e-9 ? *damping / 5 : 1e-9;
            *better = true;
        } else {
            *damping *= 5;
        }
    }
    return HCCL_OK;
}

/* So many improvements from where the machine is. */
static int iterate(fit_t *f, int rounds)
{
    double damping = 1e-3;
    bool better = true;
    int rc = residuals(f, f->machine, f->residual);
    for (int round = 0; round < rounds && better && HCCL_OK == rc; round++) {
        set_weights(f);
        rc = slopes(f);
        if (HCCL_OK == rc) {
            rc = improve(f, &damping, &better);
        }
    }
    return rc;
}

static double sum_of_sizes(const fit_t *f)
{
    double sum = 0;
    for (int i = 0; i < f->nrows; i++) {
        sum += fabs(f->residual[i]);
    }
    return sum;
}

/* There may be several minima: begins at many places, each with one constant far from where it was,
 * and goes on with the best of them. */
static int search(fit_t *f)
{
    static const double factors[] = {0.001, 0.01, 0.1, 10, 100};
    const hccl_machine_t start = *f->machine;
    hccl_machine_t best = start;
    int rc = iterate(f, FIRST_ROUNDS);
    double least = sum_of_sizes(f);
    best = *f->machine;
    for (int k = 0; k < f->nkeys; k++) {
        for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]) && HCCL_OK == rc; i++) {
            *f->machine = start;
            *hccl_machine_number(f->machine, f->keys[k].name) *= factors[i];
            rc = iterate(f, FIRST_ROUNDS);
            if (sum_of_sizes(f) < least) {
                least = sum_of_sizes(f);
                best = *f->machine;
            }
        }
    }
    *f->machine = best;
    if (HCCL_OK == rc) {
        rc = iterate(f, ROUNDS);
    }
    for (int i = 0; i < f->nrows && HCCL_OK == rc; i++) {
        f->rows[i].predicted = f->rows[i].measured * exp(f->residual[i]);
    }
    return rc;
}

int hccl_fit(hccl_machine_t *machine, hccl_fit_key_t *keys, int nkeys, hccl_fit_row_t *rows,
             int nrows, char *why)
{
    size_t n = (size_t) nrows;
    fit_t f = {.machine = machine,
               .keys = keys,
               .nkeys = nkeys,
               .rows = rows,
               .nrows = nrows,
               .residual = calloc(n, sizeof(double)),
               .slope = calloc(n * (size_t) nkeys, sizeof(double)),
               .trial = calloc(n, sizeof(double)),
               .why = why};
    int rc = HCCL_ERR_NOMEM;
    snprintf(why, HCCL_SIM_WHY, "no memory");
    if (NULL != f.residual && NULL != f.slope && NULL != f.trial) {
        rc = search(&f);
    }
    free(f.residual);
    free(f.slope);
    free(f.trial);
    return rc;
}
