/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a text is a value of a parameter. Open MPI reads numbers by itself and takes what it finds: 16 for
 * "16x", and 0 for "x" or nothing at all.
 *
 * Pure; refuses to know which parameters there are. Used by the component when it registers them.
 */
#ifndef HCCL_BASE_VALUE_H
#define HCCL_BASE_VALUE_H

#include <stdbool.h>
#include <stddef.h>

/** A number from 0 to `most`: decimal, or hexadecimal after 0x, and k, m or g for 2^10, 2^20 and 2^30 behind
 *  it, if at all. One that begins with 0 is octal, as Open MPI reads it. */
bool hccl_value_is_number(const char *text, size_t most);

/** A switch, in one of Open MPI's words for it, or as a number. */
bool hccl_value_is_switch(const char *text);

#endif
