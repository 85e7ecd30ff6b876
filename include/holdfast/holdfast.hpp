// holdfast: distributed locks, shared by many processes.
//
//   client.hpp        one per process: where the locks live, events, counters
//   mutex.hpp         mutex (the default), recursive_mutex (Redisson's RLock), fair_mutex, fenced_mutex;
//                     with_lock, try_with_lock_for
//   shared_mutex.hpp  shared_mutex: readers and writers
//   multi_lock.hpp    multi_lock: all of several locks, or none
//   redlock.hpp       redlock_url: locks that a majority of several independent servers grants
//   semaphore.hpp     counting_semaphore, permit_semaphore: a number of holders
//   latch.hpp         latch: wait until a count reaches zero
//   leasable.hpp      what all locks share: acquire, try_acquire...
//   lease.hpp         lease: the proof of holding; valid(), remaining(), lost_token(), fence(), release()
//   error.hpp         error, errc, condition: what can go wrong and what to do about it
// Less often:
//   replication.hpp   how many replicas must have a grant before it counts
//   config.hpp        every setting with its default and reason
//   redis_settings.hpp  URLs and settings of Redis
//   event.hpp         events of locks and stores; counters and histograms
//   metrics.hpp       metrics_text: counters and histograms as text for Prometheus
//   prometheus.hpp    the same in a registry of prometheus-cpp; include it by itself
//   admin.hpp         admin::inspect, list, evict, examine
//   examination.hpp   the result of examine: severity, promise, finding
//   async.hpp         acquire and release with Boost.Asio's completion tokens; include it by itself
//   fence_check.hpp   for the resource that a lock guards: a script and a statement that refuse old fences
//   kind.hpp          the kinds of lock
//   lock_info.hpp     the result of inspect and list: holders, waiters, counters
//   types.hpp         lock_name, owner_id, fence, boot_clock
//   version.hpp       the version of holdfast, for #if
// Parts of the others, which users do not need: async_access.hpp, callback.hpp, export.hpp
#pragma once

#include <holdfast/admin.hpp>
#include <holdfast/client.hpp>
#include <holdfast/config.hpp>
#include <holdfast/error.hpp>
#include <holdfast/event.hpp>
#include <holdfast/examination.hpp>
#include <holdfast/fence_check.hpp>
#include <holdfast/kind.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/lock_family.hpp>
#include <holdfast/lock_info.hpp>
#include <holdfast/metrics.hpp>
#include <holdfast/multi_lock.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/redis_settings.hpp>
#include <holdfast/redlock.hpp>
#include <holdfast/replication.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>
#include <holdfast/types.hpp>
