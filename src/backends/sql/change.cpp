#include "backends/sql/change.hpp"

#include "backends/common/fence_clock.hpp"
#include "base/random.hpp"

#include <algorithm>
#include <charconv>
#include <new>
#include <set>
#include <utility>
#include <vector>

namespace holdfast::sql_backend {

namespace {

using namespace backend;

// The numbers in "{1,2}".
std::set<std::int64_t> members_of(const cell& list) {
    std::set<std::int64_t> all;
    std::string_view rest = list ? std::string_view{*list} : std::string_view{};
    while (rest.size() > 1) {
        rest.remove_prefix(1);  // "{" or ","
        std::int64_t n = 0;
        const auto [end, ec] = std::from_chars(rest.data(), rest.data() + rest.size(), n);
        if (ec != std::errc{}) break;
        all.insert(n);
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    }
    return all;
}

fault out_of_time(std::string text) {
    return {fault::effect::none, {make_error_code(errc::busy_server), std::move(text), {}, true}};
}

class change : public std::enable_shared_from_this<change> {
  public:
    change(const change_tools& with, lock_name name, time_point deadline, change_work work)
        : with_(with), name_(std::move(name)), deadline_(deadline), work_(std::move(work)) {}

    void begin() {
        step([this] {
            if (!try_remembered()) load();
        });
    }

  private:
    enum class verdict { asks_more, needs_no_write, write };

    // Without memory for a step the request ends. It has changed nothing: a statement that cannot be sent is
    // not sent in part, and what was written is reported without memory.
    template <class Step>
    void step(const Step& what) {
        try {
            what();
        } catch (const std::bad_alloc&) {
            const fault no{fault::effect::none, {make_error_code(errc::out_of_memory), {}, {}}};
            finish(&no);
        }
    }

    [[nodiscard]] bool try_remembered();
    void load();
    void on_loaded(outcome&& result, time_point sent);
    [[nodiscard]] verdict apply(const loaded& found, engine::store_time fence_time, engine::lock_record& to);
    void ask_about(const engine::lock_record& r);
    void save(const loaded& before, engine::lock_record&& after,
              const std::optional<database_clock::estimate>& at);
    void on_saved(outcome&& result, bool remembered);
    void again();
    void finish(const fault* what) {
        if (!std::exchange(finished_, true)) work_.done(what, did_);
    }

    const change_tools& with_;  // of the store, which ends after all changes
    const lock_name name_;
    const time_point deadline_;
    const change_work work_;
    effect did_;
    std::set<std::int64_t> clients_;  // whose mailboxes the database was asked about, as number_of() says
    unsigned conflicts_ = 0;
    remembered_records::entry written_;
    bool finished_ = false;
};

// True: the statement is on its way. Not where the answer would depend on the time to the second, or on other
// clients.
bool change::try_remembered() {
    auto known = with_.known.records.find(name_.str());
    if (!known || !known->record.queue.empty()) return false;
    const auto time = with_.known.clock.at(boot_clock::now());
    if (!time) return false;
    constexpr std::chrono::seconds soon{1};
    for (const auto& h : known->record.holders)
        if (h.expires < time->latest + soon) return false;
    const loaded before{std::move(known->record), std::move(known->bytes), known->version, time->latest, {}};
    auto record = before.record;
    if (apply(before, time->earliest, record) != verdict::write) return false;
    save(before, std::move(record), time);
    return true;
}

void change::load() {
    const std::vector<std::int64_t> numbers(clients_.begin(), clients_.end());
    with_.on.run({&with_.speaks.load,
                  {parameter::bytes(name_.str()), parameter::text(with_.speaks.list_of_numbers(numbers))}},
                 deadline_, [self = shared_from_this(), sent = boot_clock::now()](outcome result) {
                     self->step([&] { self->on_loaded(std::move(result), sent); });
                 });
}

void change::on_loaded(outcome&& result, time_point sent) {
    if (const auto* const no = std::get_if<fault>(&result)) {
        if (no->what == fault::effect::conflict) return again();
        return finish(no);
    }
    const auto& all = std::get<rows>(result);
    auto found = read_record(all);
    if (const auto* const no = std::get_if<fault>(&found)) return finish(no);
    const auto& before = std::get<loaded>(found);
    with_.known.clock.observe(sent, before.now, boot_clock::now());
    with_.known.records.loaded(name_.str(), before.version);
    auto record = before.record;
    switch (apply(before, before.now, record)) {
        case verdict::asks_more: ask_about(before.record); return load();
        case verdict::needs_no_write: return finish(nullptr);
        case verdict::write: return save(before, std::move(record), std::nullopt);
    }
}

// A fence must not be ahead of the database's clock: it would be larger than the next, if the row is deleted.
change::verdict change::apply(const loaded& found, engine::store_time fence_time,
                              engine::lock_record& record) {
    bool asks_more = false;
    const auto microseconds = std::chrono::floor<std::chrono::microseconds>(fence_time.time_since_epoch());
    did_ = work_.apply(record, {.now = found.now,
                                .ticket = static_cast<std::uint64_t>(with_.serials.next()),
                                .next_fence = static_cast<fence>(backends::next_fence(
                                    found.record.last_fence, fences_per_grant, microseconds.count())),
                                .reaches =
                                    [&](kind of, const owner_id& owner) {
                                        const auto client = client_in(owner);
                                        if (client == with_.this_client) return with_.waits_here(of, owner);
                                        if (client.empty()) return false;
                                        const auto n = number_of(client);
                                        asks_more = asks_more || !clients_.contains(n);
                                        return !found.gone.contains(n);
                                    },
                                .remembers = with_.remembers,
                                .polls = with_.hears && !with_.hears()});
    if (asks_more) return verdict::asks_more;
    const bool changed = record != found.record;
    const bool new_and_idle = found.version == 0 && record.idle() && record.last_fence == 0;
    if ((!changed || did_.needless || new_and_idle) && !did_.writes_anyway) return verdict::needs_no_write;
    return verdict::write;
}

// The first waiters: a dead one is followed by others when a machine is gone.
void change::ask_about(const engine::lock_record& r) {
    constexpr std::size_t at_a_time = 64;
    std::size_t n = 0;
    for (const auto& w : r.queue) {
        const auto client = client_in(w.owner);
        if (client.empty() || client == with_.this_client || !clients_.insert(number_of(client)).second)
            continue;
        if (++n == at_a_time) return;
    }
}

// With `at`, only if the database's clock agrees.
void change::save(const loaded& before, engine::lock_record&& after,
                  const std::optional<database_clock::estimate>& at) {
    auto done = [self = shared_from_this(), remembered = at.has_value()](outcome result) {
        self->step([&] { self->on_saved(std::move(result), remembered); });
    };
    auto bytes = engine::to_bytes(after);
    written_ = {std::move(after), bytes, with_.known.next_version.next()};
    if (before.version == 0)
        return with_.on.run({&with_.speaks.insert,
                             {parameter::bytes(name_.str()), parameter::bytes(std::move(bytes)),
                              parameter::of(written_.version)}},
                            deadline_, std::move(done));
    statement s{at ? &with_.speaks.save_at : &with_.speaks.save};
    s.parameters.reserve(7);
    s.parameters.push_back(parameter::bytes(name_.str()));
    s.parameters.push_back(parameter::of(before.version));
    s.parameters.push_back(parameter::bytes(std::move(bytes)));
    s.parameters.push_back(parameter::text(did_.durable ? "true" : "false"));
    s.parameters.push_back(parameter::of(written_.version));
    if (at) {
        const auto us = [](engine::store_time t) {
            return parameter::of(std::chrono::floor<std::chrono::microseconds>(t.time_since_epoch()).count());
        };
        s.parameters.push_back(us(at->earliest));
        s.parameters.push_back(us(at->latest));
    }
    with_.on.run(std::move(s), deadline_, std::move(done));
}

void change::on_saved(outcome&& result, bool remembered) {
    if (const auto* const no = std::get_if<fault>(&result)) {
        if (no->what == fault::effect::conflict) return again();
        return finish(no);
    }
    if (std::get<rows>(result).empty()) return remembered ? load() : again();
    try {
        with_.known.records.saved(name_.str(), std::move(written_));
    } catch (const std::bad_alloc&) {  // then it is read the next time
    }
    finish(nullptr);
}

// Another client was faster. One of those that compete has always written, so this ends.
void change::again() {
    constexpr unsigned at_once = 2;
    ++conflicts_;
    const auto now = boot_clock::now();
    if (now >= deadline_) {
        const auto no = out_of_time("other clients change this lock all the time");
        return finish(&no);
    }
    if (conflicts_ <= at_once) return load();
    const auto most = std::chrono::microseconds{200} * std::min(conflicts_, 20U);
    const auto pause = std::chrono::nanoseconds{static_cast<std::int64_t>(
        base::jitter() * static_cast<double>(std::chrono::nanoseconds{most}.count()))};
    with_.reactor.at(now + pause, [self = shared_from_this()] { self->step([&] { self->load(); }); });
}

}  // namespace

std::string client_in(const owner_id& owner) {
    const auto bar = owner.str().find('|');
    return bar == std::string::npos ? std::string{} : owner.str().substr(0, bar);
}

std::variant<loaded, fault> read_record(const rows& result) {
    const fault wrong{
        fault::effect::none,
        {make_error_code(errc::wrong_kind), "the database has a record that is no lock of holdfast's"}};
    if (result.size() != 1 || result.front().size() < 3)
        return fault{fault::effect::none,
                     {make_error_code(errc::bad_reply), "a lock has no or several rows"}};
    const auto& r = result.front();
    loaded found;
    found.now = engine::store_time{std::chrono::microseconds{number(r[2])}};
    if (r.size() > 3) found.gone = members_of(r[3]);
    if (!r[0]) return found;
    auto record = engine::from_bytes(*r[0]);
    if (!record) return wrong;
    found.record = *std::move(record);
    found.bytes = *r[0];
    found.version = number(r[1]);
    return found;
}

void change_record(const change_tools& with, const lock_name& name, time_point deadline, change_work work) {
    std::make_shared<change>(with, name, deadline, std::move(work))->begin();
}

}  // namespace holdfast::sql_backend
