#include "api/policies.hpp"

#include "api/mode_author.hpp"
#include "backends/registry.hpp"
#include "base/random.hpp"
#include "base/store_place.hpp"
#include "base/text.hpp"
#include "fallback/breakers.hpp"
#include "fallback/fail_fast.hpp"
#include "fallback/fail_open.hpp"
#include "fallback/mode_wish.hpp"
#include "fallback/open_source.hpp"

#include <holdfast/error.hpp>

#include <unistd.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace holdfast::detail {

namespace {

using std::chrono::milliseconds;

bool may_be_a_name(std::string_view name) {
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    return !name.empty() && name.size() <= 64 && name.find_first_not_of(allowed) == std::string_view::npos;
}

std::string in_words(const std::vector<policy>& all) {
    if (all.empty()) return "there are none";
    std::string names = "there are";
    for (const auto& p : all) names += (&p == &all.front() ? " \"" : ", \"") + p.name + '"';
    return names;
}

}  // namespace

void check_switch(const config& c) {
    if (!c.switch_source.empty()) fallback::check_source(c.switch_source);
    if (!may_be_a_name(c.switch_group))
        throw error(errc::invalid_argument,
                    "config::switch_group needs 1 to 64 letters, digits, \"_\", \"-\" and \".\"");
}

void check(const std::vector<lock_family>& all) {
    constexpr std::size_t most = 32, longest_pattern = 1'024;
    if (all.size() > most)
        throw error(errc::invalid_argument, "config::families has " + std::to_string(all.size()) +
                                                ", and there may be " + std::to_string(most));
    std::set<std::string_view> names{lock_family::of_others};
    for (const auto& f : all) {
        const auto refuse = [&](const std::string& why) {
            throw error(errc::invalid_argument, "the family \"" + base::printable(f.name) + "\" " + why);
        };
        if (!may_be_a_name(f.name)) refuse("needs a name of 1 to 64 letters, digits, \"_\", \"-\" and \".\"");
        if (f.name == lock_family::of_others) refuse("has the name of all locks that match no family");
        if (!names.insert(f.name).second) refuse("is given twice");
        if (f.match.empty() || f.match.size() > longest_pattern) refuse("needs a pattern of 1 to 1024 bytes");
    }
}

void check(const std::vector<policy>& all) {
    std::set<std::string_view> names;
    for (const auto& p : all) {
        const auto refuse = [&](const std::string& why) {
            throw error(errc::invalid_argument, "the policy \"" + base::printable(p.name) + "\" " + why);
        };
        if (!may_be_a_name(p.name)) refuse("needs a name of 1 to 64 letters, digits, \"_\", \"-\" and \".\"");
        if (!names.insert(p.name).second) refuse("is given twice");
        if (p.tries < 1 || p.tries > 100) refuse("must try 1 to 100 times");
        if (p.pause < milliseconds{0} || p.pause > milliseconds{10'000})
            refuse("must pause for 0 ms to 10 s, and " + base::to_text(p.pause) + " was given");
        if (!p.substitute.empty() && p.outage != on_outage::fail_open_host)
            refuse("has a substitute, which is for fail_open_host");
    }
}

const policy& policy_named(const std::vector<policy>& all, std::string_view name) {
    for (const auto& p : all)
        if (p.name == name) return p;
    throw error(errc::invalid_argument, "this client has no policy \"" + base::printable(name.substr(0, 64)) +
                                            "\"; " + in_words(all));
}

const policy* policy_matching(const std::vector<policy>& all, std::string_view lock) {
    const policy* found = nullptr;
    for (const auto& p : all) {
        if (p.match.empty() || !base::glob_match(p.match, lock)) continue;
        if (found != nullptr)
            throw error(errc::invalid_argument, "the lock \"" + base::printable(lock) +
                                                    "\" has two policies, \"" + found->name + "\" and \"" +
                                                    p.name + "\"; it must name one of them");
        found = &p;
    }
    return found;
}

namespace {

using session::client_state;

// Reads the configuration centre for one client.
class switch_reader {
  public:
    switch_reader(client_state& of, std::shared_ptr<fallback::wish> to,
                  std::vector<std::function<void()>> store_is_up)
        : of_(of),
          to_(std::move(to)),
          store_is_up_(std::move(store_is_up)),
          modes_(of.store().as_mode_switch() == nullptr
                     ? nullptr
                     : std::make_shared<fallback::mode_wish>(of.reactor(), *of.store().as_mode_switch(),
                                                             of.settings.answer_timeout)),
          name_(fallback::name_of_source(of.settings.switch_source)),
          source_(fallback::open_source(of.reactor(), of.settings, backends::open,
                                        [this](const fallback::told& what) {
                                            std::visit([this](const auto& one) { on(one); }, what);
                                        })) {}
    switch_reader(const switch_reader&) = delete;
    switch_reader& operator=(const switch_reader&) = delete;
    ~switch_reader() {
        if (modes_) modes_->close();
    }
    // True while the source cannot be read. Lives on when this has ended.
    [[nodiscard]] std::shared_ptr<const std::atomic<bool>> down() const noexcept { return is_down_; }

  private:
    void on(const fallback::document& d) {
        is_up();
        of_.forget(event_kind::bad_document);
        const auto group = d.groups.find(of_.settings.switch_group);
        if (modes_ && group != d.groups.end()) propose(group->second, author_of_this_process(d.by, d.reason));
        const bool was_without = to_->without_store();
        if (!to_->take(d, of_.settings.switch_group)) return;
        const bool without = to_->without_store();
        std::string said = without == was_without ? "the breaker is set anew"
                           : without              ? "the store is not to be used"
                                                  : "the store is to be used again";
        if (!d.by.empty()) said += ", says " + d.by;
        if (!d.reason.empty()) said += ": " + d.reason;
        of_.report_state(event_kind::switched, said, {}, event_kind::switched);
        if (!without)
            for (const auto& tell : store_is_up_) tell();
    }
    void propose(fallback::mode what, admin::mode_author by) {
        switch (what) {
            case fallback::mode::store: return modes_->want(0, std::move(by));
            case fallback::mode::fallback: return modes_->want(1, std::move(by));
            case fallback::mode::automatic: return modes_->want_automatic(std::move(by));
        }
    }
    void on(const fallback::bad_document& bad) {
        is_up();
        // Also for listeners that come later: a file is read while the client is made.
        of_.report_state(event_kind::bad_document,
                         name_ + ": " + (bad.field.empty() ? "it" : bad.field) + ' ' + bad.why,
                         errc::invalid_argument, event_kind::bad_document);
    }
    void on(const fallback::unreadable& no) {
        is_down_->store(true);
        of_.report_state(event_kind::source_down, name_ + ": " + no.why, errc::unavailable,
                         event_kind::source_up);
    }
    void on(const fallback::readable& yes) {
        if (yes.how.empty()) return is_up();
        is_down_->store(false);
        of_.report_state(event_kind::source_up, name_ + ": " + yes.how, {}, event_kind::source_down);
    }
    void is_up() {
        if (is_down_->exchange(false))
            of_.report_state(event_kind::source_up, name_, {}, event_kind::source_down);
    }

    client_state& of_;
    const std::shared_ptr<fallback::wish> to_;
    const std::vector<std::function<void()>> store_is_up_;
    const std::shared_ptr<fallback::mode_wish> modes_;  // empty: the store has no modes
    const std::string name_;
    const std::shared_ptr<std::atomic<bool>> is_down_ = std::make_shared<std::atomic<bool>>(false);
    const std::unique_ptr<fallback::source> source_;  // last: it tells at once
};

void report_change(client_state& of, const fallback::breaker_change& c) {
    auto said = base::store_place(of.settings.url);
    if (!c.server.empty()) said += ", " + c.server;
    said += c.open ? ": several requests in a row have failed, so it is asked only now and then: " + c.why
                   : ": " + c.why;
    if (c.open)
        of.report_state(event_kind::breaker_open, said, errc::unavailable, event_kind::breaker_closed);
    else if (c.all_closed)
        of.report_state(event_kind::breaker_closed, said, {}, event_kind::breaker_open);
    else
        of.report(event_kind::breaker_closed, nullptr, said);
}

}  // namespace

client_state::opened_policies open_policies(client_state& of) {
    client_state::opened_policies opened;
    const auto wished = std::make_shared<fallback::wish>();
    const auto all_breakers = std::make_shared<fallback::breakers>(wished, [&of](fallback::breaker_change c) {
        of.reactor().post([&of, c = std::move(c)] { report_change(of, c); });
    });
    std::vector<std::function<void()>> store_is_up;
    const auto add = [&](const policy& p, auto store) {
        auto tell = [store = store.get()] { store->main_is_up(); };
        store_is_up.emplace_back(tell);
        opened.stores.push_back({p.name, std::move(store), std::move(tell)});
    };
    const bool changes = of.store().as_mode_switch() != nullptr;
    for (const auto& p : of.settings.policies) {
        if (p.outage == on_outage::switch_joint && !changes)
            throw error(
                errc::invalid_argument,
                "the policy \"" + p.name + "\" changes the store in an outage, which needs a joint: URL");
        if (p.outage == on_outage::fail_open_host || p.outage == on_outage::fail_open_process)
            add(p, fallback::open_fail_open(
                       {.given = {of.reactor(), of.settings, base::client_id::make(),
                                  [&of](const backend::notice& n) { of.on_notice(n); }},
                        .how = p,
                        .main = of.store(),
                        .undo = [&of](const backend::lock_key& key, const owner_id& owner,
                                      milliseconds lease) { of.undo(of.store(), key, owner, lease, true); },
                        .open = backends::open,
                        .wished = wished,
                        .all_breakers = all_breakers}));
        // A store of this machine has no outages, and one that changes its level ends them.
        if (p.outage == on_outage::fail_closed && !changes && of.store().has().guarantee >= strength::single)
            add(p, fallback::open_fail_fast(of.store(), wished, all_breakers, of.settings.answer_timeout));
    }
    if (!of.settings.switch_source.empty()) {
        const auto reader = std::make_shared<switch_reader>(of, wished, std::move(store_is_up));
        opened.source_is_down = reader->down();
        opened.beside = reader;
    }
    return opened;
}

}  // namespace holdfast::detail

namespace holdfast {

std::string substitute_of(const policy& how) {
    return how.substitute.empty() ? "file:/run/lock/holdfast-" + std::to_string(::getuid()) : how.substitute;
}

}  // namespace holdfast
