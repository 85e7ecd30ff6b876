#include "chaos/runner/mode_operator.hpp"

#include "backends/joint/mode.hpp"
#include "chaos/history/recorder.hpp"
#include "server/register_scene.hpp"
#include "support/eventually.hpp"

#include <holdfast/admin.hpp>
#include <holdfast/error.hpp>
#include <holdfast/holdfast.hpp>

#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

namespace holdfast::chaos {

namespace {

using namespace std::chrono_literals;

constexpr auto between_tries = 100ms;

// Some changes begin at once after the one before, others when all clients have used its mode for long.
std::chrono::milliseconds pause_after(std::size_t changes) { return 250ms * (changes % 5); }

config settings_of(const std::string& url) {
    config how;
    how.url = url;
    how.lease = 600ms;  // the session with the arbiter: it leaves a server that is cut off
    how.answer_timeout = 500ms;
    return how;
}

// Writes the mode without its rules: clients of the mode before go on for a mode lease.
bool write_mode(test::register_client& arbiter, const std::vector<joint_backend::needed_levels>& steps) {
    const std::string name = "holdfast.mode.default";
    auto& in = *arbiter.its_register();
    for (const auto& needed : steps) {
        const auto now = test::value_in(test::register_request{
            arbiter.its_store(), [&](auto done) {
                in.read(name, {}, arbiter.deadline(), std::move(done));
            }}.get());
        auto mode = now ? joint_backend::parse(now->text, 2) : std::nullopt;
        if (!mode) return false;
        if (mode->needed == needed) continue;
        const auto text = to_text(changed(*std::move(mode), needed, 0, {.by = "nobody", .reason = "chaos"}));
        const auto after = test::value_in(test::register_request{
            arbiter.its_store(), [&](auto done) {
                in.change(name, now->version, text, arbiter.deadline(), std::move(done));
            }}.get());
        if (!after || after->text != text) return false;
    }
    return true;
}

}  // namespace

mode_operator::mode_operator(std::string joint_url, std::string arbiter_url, precautions care)
    : joint_url_(std::move(joint_url)),
      arbiter_url_(std::move(arbiter_url)),
      care_(care),
      thread_([this] { run(); }) {}

mode_operator::~mode_operator() {
    {
        const std::lock_guard hold{mutex_};
        ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void mode_operator::want_the_other() {
    const std::lock_guard hold{mutex_};
    want(1 - wanted_);
    changed_.notify_all();
}

void mode_operator::keep_changing(std::size_t most) {
    const std::lock_guard hold{mutex_};
    most_ = most;
    changed_.notify_all();
}

void mode_operator::rest() { keep_changing(0); }

std::vector<span_of_time> mode_operator::changes() {
    const std::lock_guard hold{mutex_};
    return changes_;
}

void mode_operator::want(std::size_t level) {
    wanted_ = level;
    wanted_since_ = boot_time();
}

void mode_operator::await() {
    std::unique_lock hold{mutex_};
    const bool done = changed_.wait_for(hold, test::patience, [&] { return wrong_ || reached_ == wanted_; });
    if (wrong_) std::rethrow_exception(wrong_);
    if (!done) throw std::runtime_error{"the mode is not changed in time"};
}

void mode_operator::run() try {
    client on{settings_of(joint_url_)};
    test::register_client arbiter{arbiter_url_, 500ms};
    const auto change_to = [&](std::size_t level) {
        if (care_ == precautions::left_out) return write_mode(arbiter, {{level}});
        if (care_ == precautions::brief_step) return write_mode(arbiter, {{1 - level, level}, {level}});
        try {
            (void)admin::switch_mode(on, level, {.reason = "chaos", .wait = between_tries, .force = true});
            return true;
        } catch (const error& e) {
            if (e.code() == condition::misuse) throw;
            return false;
        }
    };
    std::unique_lock hold{mutex_};
    for (;;) {
        changed_.wait(hold, [&] { return ends_ || reached_ != wanted_ || goes_on(); });
        if (goes_on()) {
            const auto other_order = [&] { return ends_ || !goes_on(); };
            if (!changed_.wait_for(hold, pause_after(changes_.size()), other_order)) want(1 - wanted_);
        }
        if (ends_) return;
        if (reached_ == wanted_) continue;
        const auto level = wanted_;
        hold.unlock();
        const bool done = change_to(level);
        hold.lock();
        reached_ = done ? std::optional{level} : std::nullopt;
        if (done && std::exchange(at_, level) != level) changes_.push_back({wanted_since_, boot_time()});
        changed_.notify_all();
        if (!done) changed_.wait_for(hold, between_tries, [&] { return ends_; });
    }
} catch (...) {
    const std::lock_guard hold{mutex_};
    wrong_ = std::current_exception();
    changed_.notify_all();
}

}  // namespace holdfast::chaos
