#include "fallback/nacos_source.hpp"

#include "base/annotations.hpp"
#include "base/parker.hpp"
#include "base/random.hpp"
#include "fallback/document_filter.hpp"
#include "io/thread.hpp"
#include "nacos/config_watch.hpp"
#include "nacos/http.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::fallback {

namespace {

using nacos::config_watch;
using std::chrono::milliseconds;

// A resolver of an old libcurl may hold the thread for longer. Then the thread ends by itself, later.
constexpr milliseconds ends_within{1'000};

}  // namespace

// Shared with the thread.
class nacos_source::reader : public std::enable_shared_from_this<reader> {
  public:
    reader(io::reactor& on, const nacos::address& of, handler tell)
        : reactor_(on), tell_(std::move(tell)), http_(of), watch_(of, base::jitter) {}

    void start(milliseconds first_answer) {
        io::start_thread("holdfast-nacos", [self = shared_from_this()] {
            self->run();
            self->ended_.unpark();
        });
        told_once_.park_until(boot_clock::now() + first_answer);
    }

    // The handler does not run after this.
    void stop() {
        http_.stop();
        {
            base::guard lock(mutex_);
            closed_ = true;  // nothing more is posted
        }
        reactor_.run_and_wait([] {});
        ended_.park_until(boot_clock::now() + ends_within);
    }

  private:
    void run() {
        for (auto step = watch_.begin(boot_clock::now()); !http_.stopped();) {
            report(std::move(step.learned));
            if (const auto* const pause = std::get_if<config_watch::pause>(&step.next)) {
                http_.wait_until(pause->until);
                step = watch_.on_pause_over(boot_clock::now());
            } else {
                auto got = http_.ask(std::get<nacos::request>(step.next));
                step = watch_.on_reply(std::move(got), boot_clock::now());
            }
        }
        http_.close();  // here, where all signals are blocked
    }

    void report(std::vector<config_watch::news> learned) {
        if (learned.empty()) return;
        base::guard lock(mutex_);
        if (closed_) return;
        reactor_.post([self = shared_from_this(), all = std::move(learned)] {
            for (const auto& one : all) self->tell(one);
            self->told_once_.unpark();
        });
    }

    // On the reactor's thread, like the members that it uses. stop() returns after it.
    void tell(const config_watch::news& one) {
        if (http_.stopped()) return;
        std::optional<told> news;
        if (const auto* const text = std::get_if<config_watch::text>(&one)) {
            news = filter_.on_text(text->is);
        } else if (std::holds_alternative<config_watch::no_text>(one)) {
            news = filter_.on_unreadable("there is no such configuration");
        } else if (const auto* const no = std::get_if<config_watch::unreachable>(&one)) {
            news = filter_.on_unreadable(no->why);
        } else {
            news = readable{"this server has no long polls, so it is read every 5 s"};
        }
        if (news) tell_(*news);
    }

    io::reactor& reactor_;  // used until stop()
    const handler tell_;
    nacos::http http_;
    config_watch watch_;      // only the thread uses it
    document_filter filter_;  // only the reactor's thread uses it
    base::parker told_once_;  // the thread that starts and stops waits there
    base::parker ended_;

    base::mutex mutex_;
    bool closed_ GUARDED_BY(mutex_) = false;
};

nacos_source::nacos_source(io::reactor& on, std::string_view url, milliseconds first_answer, handler tell)
    : reader_(std::make_shared<reader>(on, nacos::parse_address(url), std::move(tell))) {
    reader_->start(first_answer);
}

nacos_source::~nacos_source() { reader_->stop(); }

}  // namespace holdfast::fallback
