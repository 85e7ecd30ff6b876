#include "backends/sql/listing.hpp"

#include "backends/common/record_info.hpp"
#include "base/text.hpp"

#include <map>
#include <utility>

namespace holdfast::sql_backend {

namespace {

using namespace backend;

// The clients that are connected, as far as the database shows them.
struct people {
    std::map<std::string, label> known;
    bool all = false;
};

void find_clients(const change_tools& with, time_point deadline, std::function<void(const people&)> done) {
    with.on.run({&with.speaks.clients, {}}, deadline, [done = std::move(done)](const outcome& result) {
        people who;
        if (const auto* const found = std::get_if<rows>(&result)) {
            who.all = true;
            for (const auto& r : *found) {
                if (r.empty() || !r[0]) {
                    who.all = false;
                } else if (auto l = parse_label(*r[0])) {
                    const auto client = l->client;
                    who.known.insert_or_assign(client, *std::move(l));
                }
            }
        }
        done(who);
    });
}

lock_info describe(const lock_name& name, const loaded& lock, const people& who) {
    return backends::describe(name, lock.record, lock.now,
                              [&](const owner_id& owner) -> backends::client_seen {
                                  const auto id = client_in(owner);
                                  if (id.empty()) return {};
                                  const auto found = who.known.find(id);
                                  if (found == who.known.end())
                                      return {{}, 0, who.all ? presence::gone : presence::unknown, {}};
                                  return {found->second.host, found->second.pid, presence::connected, id};
                              });
}

class list_operation : public std::enable_shared_from_this<list_operation> {
  public:
    using handler = std::function<void(result<std::vector<lock_info>>)>;

    list_operation(const change_tools& with, std::string glob, time_point deadline, handler done)
        : with_(with),
          glob_(std::move(glob)),
          prefix_(glob_.substr(0, glob_.find_first_of("*?"))),
          deadline_(deadline),
          done_(std::move(done)) {}

    void begin() {
        with_.on.run(
            {&with_.speaks.clock, {}}, deadline_, [self = shared_from_this()](const outcome& result) {
                if (const auto* const no = std::get_if<fault>(&result)) return self->done_(no->why);
                const auto& all = std::get<rows>(result);
                if (!all.empty() && !all.front().empty())
                    self->now_ = engine::store_time{std::chrono::microseconds{number(all.front()[0])}};
                find_clients(self->with_, self->deadline_, [self](const people& who) {
                    self->who_ = who;
                    // A name is not empty, so every name that begins with the prefix is greater, or is it.
                    self->next_page(self->prefix_, true);
                });
            });
    }

  private:
    static constexpr std::size_t page = 500;

    void next_page(const std::string& from, bool inclusive) {
        with_.on.run({&with_.speaks.scan,
                      {parameter::bytes(from), parameter::text(inclusive ? "true" : "false"),
                       parameter::of(static_cast<std::int64_t>(page))}},
                     deadline_, [self = shared_from_this()](const outcome& result) {
                         if (const auto* const no = std::get_if<fault>(&result)) return self->done_(no->why);
                         self->take(std::get<rows>(result));
                     });
    }
    void take(const rows& all) {
        for (const auto& r : all) {
            if (r.size() < 2 || !r[0] || !r[1]) continue;
            if (!r[0]->starts_with(prefix_)) return done_(std::move(found_));
            auto record = engine::from_bytes(*r[1]);
            if (!record || !base::glob_match(glob_, *r[0])) continue;
            auto info = describe(lock_name{*r[0]}, {*std::move(record), *r[1], 1, now_}, who_);
            if (!info.holders.empty()) found_.push_back(std::move(info));
        }
        if (all.size() < page || !all.back()[0]) return done_(std::move(found_));
        next_page(*all.back()[0], false);
    }

    const change_tools& with_;
    const std::string glob_;
    const std::string prefix_;
    const time_point deadline_;
    const handler done_;
    engine::store_time now_{};
    people who_;
    std::vector<lock_info> found_;
};

}  // namespace

void load_lock(const change_tools& with, const lock_name& name, const std::vector<std::int64_t>& clients,
               time_point deadline, std::function<void(std::variant<loaded, fault>)> done) {
    with.on.run({&with.speaks.load,
                 {parameter::bytes(name.str()), parameter::text(with.speaks.list_of_numbers(clients))}},
                deadline, [done = std::move(done)](const outcome& result) {
                    if (const auto* const no = std::get_if<fault>(&result)) return done(*no);
                    done(read_record(std::get<rows>(result)));
                });
}

void find_lock(const change_tools& with, const lock_name& name, time_point deadline,
               std::function<void(result<lock_info>)> done) {
    load_lock(with, name, {}, deadline,
              [&with, name, deadline, done = std::move(done)](std::variant<loaded, fault> found) {
                  if (const auto* const no = std::get_if<fault>(&found)) return done(no->why);
                  auto lock = std::get<loaded>(std::move(found));
                  if (lock.version == 0) return done(lock_info{name, "free", false, {}, {}, {}, {}, {}});
                  find_clients(with, deadline, [name, lock = std::move(lock), done](const people& who) {
                      done(describe(name, lock, who));
                  });
              });
}

void list_locks(const change_tools& with, const std::string& glob, time_point deadline,
                std::function<void(result<std::vector<lock_info>>)> done) {
    std::make_shared<list_operation>(with, glob, deadline, std::move(done))->begin();
}

}  // namespace holdfast::sql_backend
