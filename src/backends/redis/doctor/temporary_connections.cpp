#include "backends/redis/doctor/temporary_connections.hpp"

#include "base/annotations.hpp"

#include <holdfast/error.hpp>

#include <set>
#include <utility>

namespace holdfast::redis_backend::doctor {

struct temporary_connections::shared {
    explicit shared(io::reactor& r) : reactor(r) {}

    io::reactor& reactor;
    base::mutex mutex;
    bool closed GUARDED_BY(mutex) = false;
    std::set<std::shared_ptr<batch>> open GUARDED_BY(mutex);
};

// Connections that are made together.
class temporary_connections::batch : public std::enable_shared_from_this<batch> {
  public:
    using handler = std::function<void(std::vector<server_result>)>;

    batch(std::shared_ptr<shared> of, std::vector<connection_to> where, handler done)
        : of_(std::move(of)), where_(std::move(where)), done_(std::move(done)), open_(where_.size()) {
        for (const auto& v : where_)
            found_.push_back({redis::address_text(v.to), v.what.as,
                              backend::failure{make_error_code(errc::closed), "the client is being closed"}});
        refusals_.resize(where_.size());
    }

    void start() {
        // No caller runs the I/O of these connections: the reactor reads all answers.
        const redis::will_not_run_io here;
        std::vector<std::shared_ptr<redis::node>> made;
        for (std::size_t i = 0; i < where_.size(); ++i)
            made.push_back(std::make_shared<redis::node>(
                where_[i].to, of_->reactor, [weak = weak_from_this(), i](const redis::node_event& e) {
                    if (const auto self = weak.lock(); self && e.kind != redis::node_event::what::up)
                        self->on_refusal(i, e.why);
                }));
        {
            base::guard hold{mutex_};
            nodes_ = made;
        }
        for (std::size_t i = 0; i < made.size(); ++i)
            ask(*made[i], where_[i].what, [self = shared_from_this(), i](snapshot_result found) {
                self->on_found(i, std::move(found));
            });
    }

    // Ends all queries under way, whatever their state.
    void end() {
        std::vector<std::shared_ptr<redis::node>> nodes;
        {
            base::guard hold{mutex_};
            nodes.swap(nodes_);
        }
        for (const auto& n : nodes) n->close();
    }

    void abandon() noexcept {
        if (!mutex_.try_lock()) return;
        for (const auto& n : nodes_) n->abandon();
        mutex_.unlock();
    }

    void finish() {
        std::vector<server_result> found;
        {
            base::guard hold{mutex_};
            found.swap(found_);
        }
        {
            base::guard hold{of_->mutex};
            of_->open.erase(shared_from_this());
        }
        done_(std::move(found));
    }

  private:
    // Closes the connection after one refusal, but not within the event, which comes from that connection.
    void on_refusal(std::size_t i, const redis::fault& why) {
        base::guard hold{mutex_};
        if (nodes_.empty()) return;
        if (refusals_[i].text.empty()) refusals_[i] = {why.code, why.text};
        of_->reactor.post([weak_node = std::weak_ptr{nodes_[i]}] {
            if (const auto node = weak_node.lock()) node->close();
        });
    }

    void on_found(std::size_t i, snapshot_result found) {
        {
            base::guard hold{mutex_};
            if (std::holds_alternative<backend::failure>(found) && !refusals_[i].text.empty())
                found = refusals_[i];
            found_[i].found = std::move(found);
            if (--open_ > 0) return;
            // The connections end on the reactor thread, but not within a callback of one of them.
            if (!nodes_.empty())
                return of_->reactor.post([self = shared_from_this()] {
                    self->end();
                    self->finish();
                });
        }
        finish();
    }

    const std::shared_ptr<shared> of_;
    const std::vector<connection_to> where_;
    const handler done_;

    base::mutex mutex_;
    std::vector<std::shared_ptr<redis::node>> nodes_ GUARDED_BY(mutex_);  // empty: all is over
    std::vector<backend::failure> refusals_ GUARDED_BY(mutex_);
    std::vector<server_result> found_ GUARDED_BY(mutex_);
    std::size_t open_ GUARDED_BY(mutex_);
};

temporary_connections::temporary_connections(io::reactor& r) : shared_(std::make_shared<shared>(r)) {}

temporary_connections::~temporary_connections() { close(); }

void temporary_connections::ask_all(std::vector<connection_to> where,
                                    std::function<void(std::vector<server_result>)> done) {
    if (where.empty()) return done({});
    const auto out = std::make_shared<batch>(shared_, std::move(where), std::move(done));
    {
        base::guard hold{shared_->mutex};
        if (!shared_->closed) {
            shared_->open.insert(out);
        } else {
            hold.unlock();
            return out->finish();
        }
    }
    out->start();
}

void temporary_connections::close() {
    if (!shared_) return;  // abandoned
    std::set<std::shared_ptr<batch>> open;
    {
        base::guard hold{shared_->mutex};
        shared_->closed = true;
        open = shared_->open;
    }
    for (const auto& p : open) p->end();
}

void temporary_connections::abandon() noexcept {
    if (shared_->mutex.try_lock()) {
        for (const auto& p : shared_->open) p->abandon();
        shared_->mutex.unlock();
    }
    // The mutex may be held for ever and the connections belong to the parent: leaked on purpose.
    [[maybe_unused]] auto* leaked = new std::shared_ptr<shared>(std::move(shared_));
}

}  // namespace holdfast::redis_backend::doctor
