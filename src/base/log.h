/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages to the user. The first finder of a problem reports it, once, with what to do.
 */
#ifndef HCCL_BASE_LOG_H
#define HCCL_BASE_LOG_H

/** Levels: a message is printed when its level is at most the one set. */
typedef enum { HCCL_LOG_ERROR, HCCL_LOG_WARN, HCCL_LOG_INFO, HCCL_LOG_DEBUG } hccl_log_level_t;

/** Who prints (rank in MPI_COMM_WORLD, host) and up to which level. */
void hccl_log_init(hccl_log_level_t level, int rank);

void hccl_log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void hccl_log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void hccl_log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** What the user has asked to be told: printed as "info" from the level of warnings on. */
void hccl_log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** An invariant is broken: says so and aborts the process (Open MPI then ends the job). */
void hccl_log_fatal(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
