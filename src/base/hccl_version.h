/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The version of this component, for log lines and tools. Knows nothing else; anyone may call it.
 */
#ifndef HCCL_BASE_VERSION_H
#define HCCL_BASE_VERSION_H

/* "0.1.0 for Open MPI 4.1.4"; a constant that lives as long as the program. */
const char *hccl_base_version(void);

#endif
