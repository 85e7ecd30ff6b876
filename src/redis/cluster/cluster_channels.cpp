#include "redis/cluster/cluster_channels.hpp"

#include "redis/cluster/cluster_map.hpp"
#include "redis/node/node.hpp"
#include "redis/protocol/errors.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <condition_variable>
#include <utility>
#include <vector>

namespace holdfast::redis {

// One handler on one channel, and the node where it is subscribed now.
struct cluster_channels::following {
    following(std::string c, std::uint16_t s, pubsub h, sub_handler f)
        : channel(std::move(c)), slot(s), how(h), handler(std::move(f)) {}

    const std::string channel;
    const std::uint16_t slot;
    const pubsub how;

    // Reactor thread only.
    std::shared_ptr<node> at;
    bool subscribed = false;  // and reported to the handler
    unsigned refusals = 0;    // consecutive servers that did not serve it

    base::mutex mutex;
    std::condition_variable_any handler_ended;
    sub_handler handler GUARDED_BY(mutex);  // runs without it, while `running`
    bool left GUARDED_BY(mutex) = false;
    bool running GUARDED_BY(mutex) = false;
    std::unique_ptr<subscription> there GUARDED_BY(mutex);

    // On the reactor thread, so one call at a time.
    void notify(const sub_event& e) NO_THREAD_SAFETY_ANALYSIS {
        {
            base::guard hold{mutex};
            if (left) return;
            running = true;
        }
        handler(e);
        {
            base::guard hold{mutex};
            running = false;
        }
        handler_ended.notify_all();
    }
    [[nodiscard]] std::unique_ptr<subscription> take() {
        base::guard hold{mutex};
        return std::move(there);
    }
    // Returns `s` if the follower has left.
    [[nodiscard]] std::unique_ptr<subscription> keep(std::unique_ptr<subscription> s) {
        base::guard hold{mutex};
        if (!left) there = std::move(s);
        return s;
    }
};

class cluster_channels::handle final : public subscription {
  public:
    handle(std::shared_ptr<cluster_channels> of, std::shared_ptr<following> f)
        : of_(std::move(of)), following_(std::move(f)) {}
    ~handle() override { of_->leave(following_); }

  private:
    std::shared_ptr<cluster_channels> of_;
    std::shared_ptr<following> following_;
};

cluster_channels::cluster_channels(io::reactor& r, callbacks to) : reactor_(r), callbacks_(std::move(to)) {}

std::unique_ptr<subscription> cluster_channels::join(std::string channel, std::uint16_t slot, pubsub how,
                                                     sub_handler handler) {
    auto f = std::make_shared<following>(std::move(channel), slot, how, std::move(handler));
    {
        base::guard hold{mutex_};
        all_.insert(f);
    }
    reactor_.post([weak = weak_from_this(), f] {
        if (const auto self = weak.lock()) self->place(f);
    });
    return std::make_unique<handle>(shared_from_this(), std::move(f));
}

void cluster_channels::leave(const std::shared_ptr<following>& f) {
    {
        base::guard hold{mutex_};
        all_.erase(f);
    }
    std::unique_ptr<subscription> there;
    sub_handler dropped;
    {
        base::guard hold{f->mutex};
        f->left = true;
        there = std::move(f->there);
        // On the reactor thread a handler calls this, and would wait for itself.
        if (!reactor_.in_thread()) {
            while (f->running) f->handler_ended.wait(f->mutex);
            dropped = std::move(f->handler);
        }
    }
}

void cluster_channels::place_all() {
    std::vector<std::shared_ptr<following>> all;
    {
        base::guard hold{mutex_};
        all.assign(all_.begin(), all_.end());
    }
    for (const auto& f : all) place(f);
}

void cluster_channels::place(const std::shared_ptr<following>& f) {
    auto server = callbacks_.server_of(f->slot);
    if (server == f->at) return;
    // The old subscription first: it must not outlive its node.
    (void)f->take();
    f->at = std::move(server);
    if (std::exchange(f->subscribed, false))
        f->notify({sub_event::what::broken, "the channel is served by another server"});
    if (!f->at) return;
    (void)f->keep(f->at->subscribe(
        f->channel,
        [weak = weak_from_this(), weak_following = std::weak_ptr<following>(f)](const sub_event& e) {
            const auto self = weak.lock();
            const auto its = weak_following.lock();
            if (self && its) self->on_event(its, e);
        },
        f->how));
}

// At once after the first redirections, then with growing pauses: two servers may redirect to each other for
// a while.
void cluster_channels::place_later(const std::shared_ptr<following>& f) {
    const auto pause = std::chrono::milliseconds{f->refusals <= 2 ? 0 : 20 << std::min(f->refusals, 6U)};
    reactor_.at(boot_clock::now() + pause, [weak = weak_from_this(), f] {
        if (const auto self = weak.lock()) self->place(f);
    });
}

void cluster_channels::on_event(const std::shared_ptr<following>& f, const sub_event& e) {
    switch (e.kind) {
        case sub_event::what::subscribed:
            f->subscribed = true;
            f->refusals = 0;
            break;
        case sub_event::what::broken: f->subscribed = false; break;
        case sub_event::what::message: break;
        case sub_event::what::refused: {
            const std::string text{e.text};
            if (!f->at || (!parse_redirection(text, {}) && classify(text) != errc::busy_server)) break;
            // No missing right: the channel is served elsewhere, or later.
            ++f->refusals;
            const auto from = std::exchange(f->at, nullptr);
            (void)f->take();
            callbacks_.not_served(*from, text);
            place_later(f);
            return;
        }
    }
    f->notify(e);
}

}  // namespace holdfast::redis
