#include "backends/sql/unused_rows.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace holdfast::sql_backend {

namespace {

bool is_unused(const engine::lock_record& r, engine::store_time now) {
    const auto over = [now](engine::store_time t) { return t <= now; };
    return !r.count &&
           std::all_of(r.holders.begin(), r.holders.end(), [&](const auto& h) { return over(h.expires); }) &&
           std::all_of(r.queue.begin(), r.queue.end(), [&](const auto& w) { return over(w.forgotten_at); }) &&
           std::all_of(r.operations.begin(), r.operations.end(),
                       [&](const auto& o) { return over(o.forgotten_at); });
}

class removal : public std::enable_shared_from_this<removal> {
  public:
    removal(const change_tools& with, time_point deadline, std::function<void(std::size_t)> done)
        : with_(with), deadline_(deadline), done_(std::move(done)) {}

    void next_page(const std::string& after) {
        with_.on.run(
            {&with_.speaks.unused, {parameter::bytes(after), parameter::of(static_cast<std::int64_t>(page))}},
            deadline_, [self = shared_from_this()](const outcome& result) { self->on_page(result); });
    }

  private:
    static constexpr std::size_t page = 1'000;

    void on_page(const outcome& result) {
        const auto* const all = std::get_if<rows>(&result);
        if (all == nullptr || all->empty()) return done_(removed_);
        std::vector<std::string> names;
        std::vector<std::int64_t> versions;
        for (const auto& r : *all) {
            if (r.size() < 4 || !r[0]) continue;
            const auto found = read_record({{r[1], r[2], r[3]}});
            const auto* const lock = std::get_if<loaded>(&found);
            if (lock == nullptr || !is_unused(lock->record, lock->now)) continue;
            names.push_back(*r[0]);
            versions.push_back(lock->version);
        }
        const bool last = all->size() < page;
        auto after = all->back()[0].value_or("");
        if (names.empty()) return last ? done_(removed_) : next_page(after);
        with_.on.run({&with_.speaks.remove,
                      {parameter::text(with_.speaks.list_of_blobs(names)),
                       parameter::text(with_.speaks.list_of_numbers(versions))}},
                     deadline_,
                     [self = shared_from_this(), last, after = std::move(after)](const outcome& answer) {
                         const auto* const gone = std::get_if<rows>(&answer);
                         if (gone != nullptr) self->removed_ += gone->size();
                         if (last || gone == nullptr) return self->done_(self->removed_);
                         self->next_page(after);
                     });
    }

    const change_tools& with_;
    const time_point deadline_;
    const std::function<void(std::size_t)> done_;
    std::size_t removed_ = 0;
};

}  // namespace

void remove_unused_rows(const change_tools& with, time_point deadline,
                        std::function<void(std::size_t)> done) {
    std::make_shared<removal>(with, deadline, std::move(done))->next_page({});
}

}  // namespace holdfast::sql_backend
