/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a test is built with. The sanitizers have an allocator of their own, which
 * nothing can stand before; that of addresses may be locked in a child that a process
 * of several threads forks (clang 14).
 */
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(HAS_ADDRESS_SANITIZER)
#define HAS_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__) && !defined(HAS_THREAD_SANITIZER)
#define HAS_THREAD_SANITIZER 1
#endif
#ifndef HAS_ADDRESS_SANITIZER
#define HAS_ADDRESS_SANITIZER 0
#endif
#ifndef HAS_THREAD_SANITIZER
#define HAS_THREAD_SANITIZER 0
#endif
#define IS_SANITIZED (HAS_ADDRESS_SANITIZER || HAS_THREAD_SANITIZER)
