/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Return codes and attributes that every folder shares.
 *
 * Refuses to know Open MPI: entry/ and compat/ translate these codes to MPI error classes.
 * Anybody may include it.
 */
#ifndef HCCL_BASE_CODES_H
#define HCCL_BASE_CODES_H

/* What a function of this project returns. The first finder of an error reports it, callers only
 * pass the code up; outputs are written on HCCL_OK alone. */
enum {
    HCCL_OK = 0,
    HCCL_ERR_NOMEM = -1,    /* no memory */
    HCCL_ERR_ARG = -2,      /* the caller, or the user's text, is wrong */
    HCCL_ERR_INTERNAL = -3, /* an invariant of this project does not hold */
    HCCL_ERR_NOTSUP = -4,   /* not possible here: machine, build or version lacks it */
    HCCL_ERR_SYS = -5       /* the operating system refused; errno tells */
};

#define HCCL_CHECKED __attribute__((warn_unused_result))
#define HCCL_LIKELY(x) __builtin_expect(!!(x), 1)
#define HCCL_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
