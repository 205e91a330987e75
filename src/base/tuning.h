/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the start-up probe finds out about a machine, and the file that keeps it for later jobs.
 *
 * Refuses to know how it is measured (tier/probe.c) and what the key says (topo/detect_machine.c):
 * here the key is a line of text that must be equal. Called by the component when it opens.
 */
#ifndef HCCL_BASE_TUNING_H
#define HCCL_BASE_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codes.h"

/** Bytes of a slot in the rings for long messages (exec/comm.h). Both 0: not known. */
typedef struct hccl_tuning {
    uint32_t slot_large; /* of what goes one way on one node */
    uint32_t slot_wide;  /* of all else */
} hccl_tuning_t;

/** Bounds of what a file or a peer may say, those of the parameters. */
#define HCCL_SLOT_LARGE_LEAST ((uint32_t) 4096)
#define HCCL_SLOT_LARGE_MOST ((uint32_t) 16 << 20)
#define HCCL_SLOT_WIDE_LEAST ((uint32_t) 4096)
#define HCCL_SLOT_WIDE_MOST ((uint32_t) 64 << 20)

/** Whether these are values that a ring can have. */
bool hccl_tuning_is_known(const hccl_tuning_t *tuning);

/** Where files are kept: `given`, if not empty, else below $XDG_CACHE_HOME, else below ~/.cache.
 *  HCCL_ERR_NOTSUP: nowhere. */
HCCL_CHECKED int hccl_tuning_dir(const char *given, char *dir, size_t len);

/** Reads the file of this key. HCCL_ERR_NOTSUP: there is none. HCCL_ERR_ARG: there is one that is
 *  not to be used, `why` says why. */
HCCL_CHECKED int hccl_tuning_load(const char *dir, const char *key, hccl_tuning_t *tuning,
                                  char *why, size_t whylen);

/** Writes the file of this key: who reads at the same time finds the old one, if any, or the new one,
 *  whole. HCCL_ERR_SYS: not possible, `why` says why; nothing is left behind. */
HCCL_CHECKED int hccl_tuning_store(const char *dir, const char *key, const hccl_tuning_t *tuning,
                                   char *why, size_t whylen);

#endif
