#include "zookeeper/server_words.hpp"

#include "io/thread.hpp"
#include "io/tls.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>
#include <utility>

namespace holdfast::zookeeper {

// Shared with the thread that asks, which may outlive everything else here.
struct server_words::question {
    base::mutex mutex;
    io::reactor* notify GUARDED_BY(mutex);  // null: nobody waits for the answer
    callback<void(std::vector<told>)> done GUARDED_BY(mutex);

    explicit question(io::reactor& r) : notify(&r) {}

    void answer(std::vector<told> all) {
        callback<void(std::vector<told>)> to;
        {
            base::guard lock(mutex);
            notify = nullptr;
            to = std::exchange(done, {});
        }
        if (to) to(std::move(all));
    }
};

namespace {

constexpr std::size_t longest_answer = 1'000'000;

// Blocks in its own thread until a deadline.
class conversation {
  public:
    conversation(const server& to, time_point deadline) : to_(to), deadline_(deadline) {}

    // Empty: see why().
    std::string ask(std::string_view word) {
        for (const auto& at : io::resolve(to_.where, why_)) {
            io::stream s;
            if (!connect(s, at)) continue;
            if (auto found = exchange(s, word)) return *std::move(found);
        }
        return {};
    }
    [[nodiscard]] const std::string& why() const noexcept { return why_; }

  private:
    bool ready(const io::stream& s, short events) {
        const auto left = std::chrono::ceil<milliseconds>(deadline_ - boot_clock::now()).count();
        pollfd one{s.fd(), events, 0};
        if (left > 0 && ::poll(&one, 1, static_cast<int>(left)) > 0) return true;
        why_ = "no answer in time";
        return false;
    }
    bool connect(io::stream& s, const io::address& at) {
        auto failed = s.start_connect(to_.where, at);
        if (!failed && !ready(s, POLLOUT)) return false;
        if (!failed) failed = s.finish_connect();
        if (failed) {
            why_ = failed.message();
            return false;
        }
        if (!to_.tls) return true;
        const auto renewed = to_.tls->reread();
        s.secure(renewed ? *renewed : *to_.tls);
        for (;;) {
            const auto step = s.handshake();
            if (step.state == io::progress::done) return true;
            if (step.state != io::progress::would_block) {
                why_ = "TLS: " + step.error.message();
                return false;
            }
            if (!ready(s, s.handshake_wants_room() ? POLLOUT : POLLIN)) return false;
        }
    }
    std::optional<std::string> exchange(io::stream& s, std::string_view word) {
        while (!word.empty()) {
            const auto moved = s.send_some(word);
            if (moved.state == io::progress::done)
                word.remove_prefix(moved.bytes);
            else if (moved.state != io::progress::would_block || !ready(s, POLLOUT))
                return std::nullopt;
        }
        std::string answer;
        std::array<char, io::receive_size> bytes;
        for (;;) {
            const auto moved = s.recv_some(bytes);
            if (moved.state == io::progress::done && answer.size() < longest_answer)
                answer.append(bytes.data(), moved.bytes);
            else if (moved.state != io::progress::would_block || !ready(s, POLLIN))
                break;
        }
        if (!answer.empty()) return answer;
        if (why_.empty()) why_ = "it closed the connection";
        return std::nullopt;
    }

    const server& to_;
    const time_point deadline_;
    std::string why_;
};

told ask_one(const server& s, time_point deadline) {
    told found;
    found.address = s.where.host + ":" + std::to_string(s.where.port);
    conversation with{s, deadline};
    const auto begun = boot_clock::now();
    found.srvr = with.ask("srvr");
    found.round_trip = boot_clock::now() - begun;
    if (found.srvr.empty())
        found.why = with.why();
    else
        found.mntr = with.ask("mntr");
    return found;
}

}  // namespace

server_words::server_words(io::reactor& on) : reactor_(on) {}

server_words::~server_words() {
    std::vector<std::weak_ptr<question>> open;
    {
        base::guard lock(mutex_);
        open.swap(open_);
    }
    for (const auto& one : open)
        if (const auto q = one.lock()) q->answer({});
    // What was posted before does not run later.
    reactor_.run_and_wait([] {});
}

void server_words::ask(std::vector<server> whom, time_point deadline,
                       callback<void(std::vector<told>)> done) {
    const auto q = std::make_shared<question>(reactor_);
    {
        base::guard lock(q->mutex);
        q->done = std::move(done);
    }
    {
        base::guard lock(mutex_);
        std::erase_if(open_, [](const auto& one) { return one.expired(); });
        open_.push_back(q);
    }
    try {
        io::start_thread("holdfast-words", [q, whom = std::move(whom), deadline] {
            try {
                std::vector<told> all;
                for (std::size_t i = 0; i < whom.size(); ++i) {
                    const auto now = boot_clock::now();
                    const auto share = (deadline - now) / static_cast<int>(whom.size() - i);
                    all.push_back(ask_one(whom[i], now + share));
                }
                base::guard lock(q->mutex);
                if (q->notify == nullptr) return;
                q->notify->post([q, all = std::move(all)]() mutable { q->answer(std::move(all)); });
            } catch (const std::exception&) {  // no memory
                q->answer({});
            }
        });
    } catch (const std::exception&) {  // no thread left
        q->answer({});
    }
}

}  // namespace holdfast::zookeeper
