// The schemes of the lab as subjects of a run. Where a scheme knows no end of its lease, its holder
// believes in the lock for ever.
#include "chaos/history/recorder.hpp"
#include "chaos/runner/subject.hpp"
#include "lab/schemes/schemes.hpp"

#include <atomic>
#include <thread>

namespace holdfast::chaos {

namespace {

// Runs a scheme against one server without stopping anywhere.
class bare_performer final : public lab::performer {
  public:
    explicit bare_performer(lab::part p) : part_(std::move(p)) {}

    [[nodiscard]] const lab::part& own_part() const override { return part_; }
    lab::reply send(std::size_t, const lab::arguments& command) override {
        try {
            if (!to_) to_ = std::make_unique<lab::connection>(part_.sockets.at(0));
            return to_->send(command);
        } catch (const lab::connection_broken&) {
            to_.reset();
            throw;
        }
    }
    lab::reply send_aside(const lab::arguments& command) override { return send(0, command); }
    lab::reply send_to_resource(const lab::arguments& command) override { return send(0, command); }
    lab::sql_answer ask_table(const std::string&, const std::vector<std::string>&) override {
        throw lab::command_failed{"there is no table here"};
    }
    void listen_to(const std::string&) override {}
    void wait_for_message(std::chrono::milliseconds at_most) override {
        std::this_thread::sleep_for(at_most);
    }
    void stop(std::string_view point) override {
        if (point == "before_retry") std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    void say(const std::string&) override {}

  private:
    lab::part part_;
    std::unique_ptr<lab::connection> to_;
};

struct performance {
    explicit performance(lab::part p) : by(std::move(p)) {}

    bare_performer by;
    std::unique_ptr<lab::scheme> scheme;
};

class believed final : public grant {
  public:
    explicit believed(std::unique_ptr<performance> p) : held_(std::move(p)) {}

    [[nodiscard]] bool valid() const override {
        const auto until = held_->scheme->holds_until();
        return !until || boot_clock::now() < *until;
    }
    phase release() override {
        try {
            held_->scheme->unlock();
            return phase::ok;
        } catch (const lab::command_failed&) {
            return phase::info;
        }
    }

  private:
    std::unique_ptr<performance> held_;
};

class scheme_subject final : public subject {
  public:
    scheme_subject(const lab::known_scheme& which, lab::part p) : which_(which), part_(std::move(p)) {}

    // A scheme has no wait with a limit.
    answer acquire(const request&) override {
        auto mine = part_;
        mine.owner += "." + std::to_string(serial_.fetch_add(1));
        auto p = std::make_unique<performance>(std::move(mine));
        p->scheme = which_.make(p->by);
        try {
            p->scheme->lock();
            return {phase::ok, std::make_unique<believed>(std::move(p)), 0};
        } catch (const lab::command_failed&) {
            return {phase::fail, nullptr, 1};
        }
    }
    answer nest(grant&) override { return {phase::fail, nullptr, 1}; }

  private:
    const lab::known_scheme& which_;
    const lab::part part_;
    std::atomic<unsigned> serial_{0};
};

const lab::known_scheme& scheme_of(const std::string& name) {
    const auto* const which = lab::find_scheme(name);
    if (which == nullptr || which->where != lab::kept::on_one_server)
        throw std::runtime_error{"the lab has no scheme \"" + name + "\" that keeps its lock on one server"};
    return *which;
}

class lab_subject_set final : public subject_set {
  public:
    explicit lab_subject_set(const setting& how) {
        const auto& which = scheme_of(how.subject);
        for (const auto& l : locks_of(how.subject, how.topology)) {
            lab::part p;
            p.name = p.owner = how.who;
            p.scheme = how.subject;
            p.sockets = {how.socket};
            p.key = l.row.name;
            p.ttl = how.lease;
            locks_.push_back(std::make_unique<scheme_subject>(which, std::move(p)));
        }
    }
    [[nodiscard]] subject& at(std::size_t lock) override { return *locks_.at(lock); }
    [[nodiscard]] countdown& latch_at(std::size_t) override {
        throw std::logic_error{"the lab has no latches"};
    }

  private:
    std::vector<std::unique_ptr<subject>> locks_;
};

}  // namespace

void check_subject(const std::string& name) {
    if (name != "holdfast") (void)scheme_of(name);
}

std::unique_ptr<subject_set> open_lab(const setting& how) { return std::make_unique<lab_subject_set>(how); }

}  // namespace holdfast::chaos
