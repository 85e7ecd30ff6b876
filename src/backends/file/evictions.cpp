#include "backends/file/evictions.hpp"

#include <iterator>
#include <optional>
#include <utility>

namespace holdfast::file_backend {

void evictions::answer(one& all) {
    if (all.dropped.empty() && !all.open.empty()) return all.done(std::move(all.silent));
    all.done(std::move(all.dropped));
}

void evictions::begin(std::set<std::string> owners, backend::time_point until, backend::failure silent,
                      handler done) {
    base::guard lock(mutex_);
    const auto id = next_++;
    auto timer = reactor_.at(until, [this, id] { time_is_up(id); });
    all_.emplace(id, one{std::move(owners), {}, std::move(silent), std::move(done), timer});
}

void evictions::report(const std::string& owner, end how) {
    std::vector<one> complete;
    {
        base::guard lock(mutex_);
        for (auto it = all_.begin(); it != all_.end();) {
            auto& e = it->second;
            if (e.open.erase(owner) > 0 && how == end::dropped) e.dropped.push_back({owner});
            const auto next = std::next(it);
            if (e.open.empty()) {
                reactor_.cancel(e.timer);
                complete.push_back(std::move(e));
                all_.erase(it);
            }
            it = next;
        }
    }
    for (auto& e : complete) answer(e);
}

void evictions::time_is_up(std::uint64_t id) {
    std::optional<one> late;
    {
        base::guard lock(mutex_);
        const auto it = all_.find(id);
        if (it == all_.end()) return;
        late.emplace(std::move(it->second));
        all_.erase(it);
    }
    answer(*late);
}

void evictions::close() {
    std::map<std::uint64_t, one> left;
    {
        base::guard lock(mutex_);
        left.swap(all_);
        for (auto& [id, e] : left) reactor_.cancel(e.timer);
    }
    reactor_.run_and_wait([] {});  // time_is_up() has ended
    for (auto& [id, e] : left) answer(e);
}

}  // namespace holdfast::file_backend
