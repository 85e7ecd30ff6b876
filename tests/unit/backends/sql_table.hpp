// A database in memory, for tests of what the stores for SQL databases make of it.
#pragma once

#include "backends/sql/database.hpp"
#include "base/clock.hpp"
#include "base/parker.hpp"
#include "io/reactor.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sql_backend {

// A table in memory with the statements of a dialect, whose texts are only names.
class table_of_locks final : public database {
  public:
    explicit table_of_locks(io::reactor& on) : reactor_(on) {}

    void run(statement what, time_point, handler<outcome> done) override {
        asked.emplace_back(what.what->sql);
        if (no_memory_for == what.what->sql) throw std::bad_alloc{};
        reactor_.post(
            [this, what = std::make_shared<statement>(std::move(what)),
             done = std::make_shared<handler<outcome>>(std::move(done))] { (*done)(answer(*what)); });
    }
    void run_io(base::parker& me, time_point until) override { me.park_until(until); }
    [[nodiscard]] backend::traffic statistics() const noexcept override { return {}; }
    void close() override {}
    void abandon() noexcept override {}

    struct stored {
        std::string record;
        std::int64_t version = 0;
    };
    std::map<std::string, stored> all;
    std::chrono::microseconds ahead{0};  // the clock of the database
    std::vector<std::string> asked;
    std::string no_memory_for;  // the statement that this process has no memory for

  private:
    rows answer(const statement& s) {
        const std::string verb = s.what->sql;
        const auto& p = s.parameters;
        const auto now = base::wall_microseconds() + ahead.count();
        if (verb == "load_many") return {};  // those are then read one by one
        const auto found = all.find(p.at(0).value);
        if (verb == "load") {
            if (found == all.end()) return {{std::nullopt, std::nullopt, std::to_string(now), "{}"}};
            return {{found->second.record, std::to_string(found->second.version), std::to_string(now), "{}"}};
        }
        if (verb == "insert") {
            if (found != all.end()) return {};
            all[p.at(0).value] = {p.at(1).value, number(p.at(2).value)};
            return {{p.at(2).value}};
        }
        const bool in_time = verb == "save" || (number(p.at(5).value) <= now && now <= number(p.at(6).value));
        if (found == all.end() || found->second.version != number(p.at(1).value) || !in_time) return {};
        found->second = {p.at(2).value, number(p.at(4).value)};
        return {{p.at(4).value}};
    }

    io::reactor& reactor_;
};

}  // namespace holdfast::sql_backend
