// Locks for Asio: acquire and release with completion tokens (callbacks, use_future, use_awaitable, ...).
// The only header that needs Boost.Asio (1.81 or later), and it is not part of holdfast.hpp.
//
//     lease turn = co_await async_acquire(nightly, {.ttl = 1min}, use_awaitable);
//     lease soon = co_await async_try_acquire_for(nightly, 2s, use_awaitable);  // empty: others hold it
//     release_result end = co_await async_release(std::move(turn), use_awaitable);
//
// Nothing blocks, and no thread waits: thousands of acquisitions may be pending. The result is posted to the
// handler's executor; results that come together for one executor wake it once. A handler without an executor
// of its own runs on asio::system_executor.
//
// The lease, never a thread, owns the lock: no async form re-enters. The lease's destructor releases the lock
// without waiting for the answer; to learn the result, await async_release.
//
// Errors: an error_code of holdfast::errc; use_awaitable and use_future throw it as
// boost::system::system_error. Cancellation through the handler's cancellation slot gives
// asio::error::operation_aborted, through options.stop errc::cancelled. A cancelled acquisition leaves
// nothing behind; if the lock was granted just before, the acquisition succeeds.
//
// Lifetime: the lock object need not outlive the operation. When a client is destroyed, its operations end
// with errc::closed. When an execution context is destroyed, it drops the handlers of its operations and
// cancels them.
#pragma once

#include <holdfast/async_access.hpp>
#include <holdfast/error.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/leasable.hpp>
#include <holdfast/lease.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/error_code.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast {

namespace detail {

// A node in a context's list of handlers that still wait for a result.
struct async_owed {
    async_owed* previous = this;
    async_owed* next = this;

    void unlink() noexcept {
        previous->next = next;
        next->previous = previous;
        previous = next = this;
    }
};

// An operation whose handler belongs to an execution context.
class async_operation : public async_owed {
  public:
    virtual ~async_operation() = default;
    // Runs on a thread of the context: passes the result to the handler's executor.
    virtual void deliver(bool may_run_here) = 0;
    // The context is being destroyed: drops the handler, and the result if there is one.
    virtual void abandon() noexcept = 0;
    // True if its handler has the executor of `other`'s: both may be delivered together.
    [[nodiscard]] virtual bool runs_where(const async_operation& other) const noexcept = 0;
    // Wakes the handler's executor to run `f`.
    virtual void wake(void (*f)(const std::shared_ptr<void>&), std::shared_ptr<void> with) = 0;

    std::shared_ptr<async_operation> self;  // while in the list
};

// The undelivered operations of one execution context. It owns them: the parts of an operation that belong to
// the context may only be destroyed on one of its threads.
class async_box : public boost::asio::execution_context::service {
  public:
    using key_type = async_box;
    inline static boost::asio::execution_context::id id;

    explicit async_box(boost::asio::execution_context& context) : service(context) {}

    // May outlive the context; `closed` is true then.
    struct contents {
        // Operations that have ended and whose handlers run on one executor.
        struct batch {
            std::shared_ptr<contents> from;
            std::vector<async_operation*> ended;
        };

        std::mutex mutex;
        bool closed = false;
        std::shared_ptr<batch> latest;  // while it may still grow
        async_owed owed;

        void begin(std::shared_ptr<async_operation> op) {
            const std::lock_guard hold{mutex};
            op->previous = owed.previous;
            op->next = &owed;
            op->previous->next = op.get();
            owed.previous = op.get();
            auto& self = op->self;
            self = std::move(op);
        }
        // Ends an operation that has not ended; `put` stores the result. Does nothing once the context, and
        // the operation with it, is gone.
        template <class Put>
        static void end(const std::shared_ptr<contents>& in, async_operation* op, Put put) {
            const std::lock_guard hold{in->mutex};
            if (in->closed) return;
            put();
            auto& latest = in->latest;
            if (latest && latest->ended.front()->runs_where(*op)) {
                latest->ended.push_back(op);
                return;
            }
            // One call for all that end before it runs. Under the mutex: otherwise the context might be gone.
            latest = std::make_shared<batch>();
            latest->from = in;
            latest->ended.push_back(op);
            op->wake(&contents::deliver, latest);
        }
        static void deliver(const std::shared_ptr<void>& what) {
            auto& b = *static_cast<batch*>(what.get());
            std::vector<std::shared_ptr<async_operation>> ended;
            {
                const std::lock_guard hold{b.from->mutex};
                ended.reserve(b.ended.size());
                if (b.from->latest.get() == &b) b.from->latest = nullptr;
                for (auto* op : b.ended) ended.push_back(taken(*op));
            }
            // The first handler runs here, last: if it throws or takes long, the others are already posted.
            for (std::size_t i = 1; i < ended.size(); ++i) ended[i]->deliver(false);
            ended.front()->deliver(true);
        }
        static std::shared_ptr<async_operation> taken(async_operation& op) noexcept {
            op.unlink();
            return std::move(op.self);
        }
    };
    [[nodiscard]] const std::shared_ptr<contents>& inside() const noexcept { return contents_; }

  private:
    void shutdown() noexcept override {
        std::vector<std::shared_ptr<async_operation>> dropped;
        {
            const std::lock_guard hold{contents_->mutex};
            contents_->closed = true;
            contents_->latest = nullptr;  // destroyed with the function that was to deliver it
            auto& all = contents_->owed;
            while (all.next != &all)
                dropped.push_back(contents::taken(static_cast<async_operation&>(*all.next)));
        }
        for (const auto& op : dropped) op->abandon();
    }

    const std::shared_ptr<contents> contents_ = std::make_shared<contents>();
};

// An operation whose handler runs on an `Executor`.
template <class Executor>
class async_on : public async_operation {
  public:
    [[nodiscard]] bool runs_where(const async_operation& other) const noexcept override {
        // Only executors of one type can be compared.
        const auto* same = dynamic_cast<const async_on*>(&other);
        return same != nullptr && same->executor_ == executor_;
    }

  protected:
    explicit async_on(const Executor& e) : executor_(e) {}

    std::optional<Executor> executor_;  // until the operation has ended: may not outlive its context
};

// An operation whose handler takes `Results...`.
template <class Handler, class... Results>
class async_waiting final : public async_on<boost::asio::associated_executor_t<Handler>> {
  public:
    explicit async_waiting(Handler handler)
        : async_waiting::async_on(boost::asio::get_associated_executor(handler)),
          handler_(std::in_place, std::move(handler), *executor_) {}

    // Delivers the result to the operation, on any thread, once. Does not keep the operation alive.
    class way {
      public:
        // Calls `put` with the operation, to store the result; not if the context is gone.
        template <class Put>
        void end(Put put) const {
            async_box::contents::end(box_, op_, [&] { put(*op_); });
        }

      private:
        friend async_waiting;
        way(std::shared_ptr<async_box::contents> box, async_waiting* op) : box_(std::move(box)), op_(op) {}
        std::shared_ptr<async_box::contents> box_;
        async_waiting* op_;
    };
    [[nodiscard]] static way begin(const std::shared_ptr<async_waiting>& op) {
        auto& context = boost::asio::query(*op->executor_, boost::asio::execution::context);
        const auto& box = boost::asio::use_service<async_box>(context).inside();
        box->begin(op);
        return {box, op.get()};
    }
    void store_results(Results... results) { results_.emplace(std::move(results)...); }

    void deliver(bool may_run_here) override {
        auto [handler, work] = std::move(*handler_);
        handler_.reset();
        const auto executor = *std::exchange(executor_, std::nullopt);
        auto run = [handler = std::move(handler), results = std::move(*results_)]() mutable {
            // Clear it here, where the signal may be emitted, and nowhere else.
            auto slot = boost::asio::get_associated_cancellation_slot(handler);
            if (slot.is_connected()) slot.clear();
            std::apply(std::move(handler), std::move(results));
        };
        if (may_run_here)
            boost::asio::dispatch(executor, std::move(run));
        else
            boost::asio::post(executor, std::move(run));
    }
    void abandon() noexcept override {
        cancel();
        handler_.reset();
        executor_.reset();
        results_.reset();
    }
    void wake(void (*f)(const std::shared_ptr<void>&), std::shared_ptr<void> with) override {
        boost::asio::post(*executor_, [f, with = std::move(with)]() { f(with); });
    }

    // Called through the handler's cancellation slot, or at the end of its context.
    void cancel() {
        const std::lock_guard hold{call_mutex_};
        cancelled_ = true;
        call_.cancel();
    }
    [[nodiscard]] bool cancelled() const noexcept { return cancelled_; }
    void cancels(async_access::under_way call) {
        const std::lock_guard hold{call_mutex_};
        call_ = std::move(call);
        if (cancelled_) call_.cancel();
    }
    [[nodiscard]] auto slot() const {
        return boost::asio::get_associated_cancellation_slot(handler_->handler);
    }

  private:
    using executor_type = boost::asio::associated_executor_t<Handler>;
    using async_on<executor_type>::executor_;
    struct kept {
        kept(Handler h, const executor_type& e) : handler(std::move(h)), work(e) {}
        Handler handler;
        boost::asio::executor_work_guard<executor_type> work;  // keeps run() going while we wait
    };
    std::optional<kept> handler_;
    std::optional<std::tuple<Results...>> results_;
    std::mutex call_mutex_;
    async_access::under_way call_;
    std::atomic<bool> cancelled_{false};
};

// How long an acquisition waits, counted from its beginning.
struct async_wait {
    enum class limit { no_wait, limited, without_limit } wait;
    std::chrono::duration<double> time{};

    [[nodiscard]] boot_clock::time_point from_now() const {
        if (wait == limit::limited) return async_access::after(time);
        return wait == limit::no_wait ? boot_clock::time_point::min() : boot_clock::time_point::max();
    }
};

struct begin_acquire {
    template <class Handler>
    void operator()(Handler&& handler, const async_access::request& what, const async_wait& wait) const {
        using operation = async_waiting<std::decay_t<Handler>, boost::system::error_code, lease>;
        run<operation>(std::forward<Handler>(handler), what, wait,
                       [](operation& op, boost::system::error_code code, lease& held) {
                           op.store_results(code, std::move(held));
                       });
    }

    // `store_results` passes the results to the operation.
    template <class Operation, class Handler, class Store>
    static void run(Handler&& handler, const async_access::request& what, const async_wait& wait,
                    Store store_results) {
        const auto op = std::make_shared<Operation>(std::forward<Handler>(handler));
        if (auto slot = op->slot(); slot.is_connected()) {
            // Weak: a signal may outlive the context, and the operation may hold a lease.
            slot.assign([weak = std::weak_ptr{op}](boost::asio::cancellation_type type) {
                if (type == boost::asio::cancellation_type::none) return;
                if (const auto here = weak.lock()) here->cancel();
            });
        }
        auto done = [way = Operation::begin(op), store_results](std::error_code code, lease held) {
            way.end([&](Operation& ended) {
                boost::system::error_code reported = code;
                if (ended.cancelled() && code == errc::cancelled)
                    reported = boost::asio::error::operation_aborted;
                store_results(ended, reported, held);
            });
        };
        op->cancels(async_access::acquire(what, wait.from_now(), std::move(done)));
    }
};

struct begin_release {
    template <class Handler>
    void operator()(Handler&& handler, lease held) const {
        using operation = async_waiting<std::decay_t<Handler>, release_result>;
        const auto op = std::make_shared<operation>(std::forward<Handler>(handler));
        async_access::release(std::move(held), [way = operation::begin(op)](const release_result& r) {
            way.end([&](operation& ended) { ended.store_results(r); });
        });
    }
};

struct begin_wait {
    template <class Handler>
    void operator()(Handler&& handler, const async_access::request& what, const async_wait& wait) const {
        using operation = async_waiting<std::decay_t<Handler>, boost::system::error_code, bool>;
        begin_acquire::run<operation>(std::forward<Handler>(handler), what, wait,
                                      [](operation& op, boost::system::error_code code, const lease& zero) {
                                          op.store_results(code, static_cast<bool>(zero));
                                      });
    }
};

struct begin_count_down {
    template <class Handler>
    void operator()(Handler&& handler, const async_access::request& of, std::int64_t by) const {
        using operation = async_waiting<std::decay_t<Handler>, boost::system::error_code, std::int64_t>;
        const auto op = std::make_shared<operation>(std::forward<Handler>(handler));
        async_access::count_down(of, by,
                                 [way = operation::begin(op)](std::error_code code, std::int64_t left) {
                                     way.end([&](operation& ended) { ended.store_results(code, left); });
                                 });
    }
};

template <class Token>
auto async_acquire(leasable& lock, const async_wait& wait, const acquire_options& options, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, lease)>(
        begin_acquire{}, token, async_access::request{lock, options}, wait);
}

}  // namespace detail

// Waits until the lock is held. Signature of completion: void(boost::system::error_code, lease).
template <class Token>
auto async_acquire(leasable& lock, const acquire_options& options, Token&& token) {
    using limit = detail::async_wait::limit;
    return detail::async_acquire(lock, {limit::without_limit}, options, std::forward<Token>(token));
}
template <class Token>
auto async_acquire(leasable& lock, Token&& token) {
    return async_acquire(lock, acquire_options{}, std::forward<Token>(token));
}

// Makes one attempt. An empty lease without an error: another owner holds the lock.
template <class Token>
auto async_try_acquire(leasable& lock, const acquire_options& options, Token&& token) {
    using limit = detail::async_wait::limit;
    return detail::async_acquire(lock, {limit::no_wait}, options, std::forward<Token>(token));
}
template <class Token>
auto async_try_acquire(leasable& lock, Token&& token) {
    return async_try_acquire(lock, acquire_options{}, std::forward<Token>(token));
}

// Waits for at most `wait`, counted from the beginning of the operation. An empty lease without an error:
// another owner held the lock all the time.
template <class Rep, class Period, class Token>
auto async_try_acquire_for(leasable& lock, const std::chrono::duration<Rep, Period>& wait,
                           const acquire_options& options, Token&& token) {
    using limit = detail::async_wait::limit;
    return detail::async_acquire(lock, {limit::limited, wait}, options, std::forward<Token>(token));
}
template <class Rep, class Period, class Token>
auto async_try_acquire_for(leasable& lock, const std::chrono::duration<Rep, Period>& wait, Token&& token) {
    return async_try_acquire_for(lock, wait, acquire_options{}, std::forward<Token>(token));
}

// Releases the lock. Signature of completion: void(release_result); see lease::release().
template <class Token>
auto async_release(lease held, Token&& token) {
    return boost::asio::async_initiate<Token, void(release_result)>(detail::begin_release{}, token,
                                                                    std::move(held));
}

// Waits until the count of the latch is zero. Signature of completion: void(boost::system::error_code, bool);
// false without an error: the time ended first.
template <class Token>
auto async_wait(const latch& of, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, bool)>(
        detail::begin_wait{}, token, detail::async_access::wait_for(of),
        detail::async_wait{detail::async_wait::limit::without_limit});
}
template <class Rep, class Period, class Token>
auto async_wait_for(const latch& of, const std::chrono::duration<Rep, Period>& time, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, bool)>(
        detail::begin_wait{}, token, detail::async_access::wait_for(of),
        detail::async_wait{detail::async_wait::limit::limited, time});
}

// Signature of completion: void(boost::system::error_code, std::int64_t), with the count that is left.
template <class Token>
auto async_count_down(const latch& of, std::int64_t by, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, std::int64_t)>(
        detail::begin_count_down{}, token, detail::async_access::wait_for(of), by);
}

}  // namespace holdfast
