// Records as this client has written them.
#pragma once

#include "base/annotations.hpp"
#include "engine/lock_record.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace holdfast::sql_backend {

// A lock that no other client uses needs not be read before it is written: the write finds out. For locks
// that others use, this would be a statement in vain; those are read. Thread-safe.
class remembered_records {
  public:
    struct entry {
        engine::lock_record record;
        std::string bytes;
        std::int64_t version = 0;
    };

    // Empty: read it.
    [[nodiscard]] std::optional<entry> find(const std::string& name) const {
        const base::guard lock(mutex_);
        const auto found = all_.find(name);
        if (found == all_.end() || !found->second.ours) return std::nullopt;
        return found->second.what;
    }
    // This client has written it.
    void saved(const std::string& name, entry what) {
        const base::guard lock(mutex_);
        const auto [at, fresh] = all_.try_emplace(name);
        at->second.what = std::move(what);
        if (fresh && all_.size() > most) all_.erase(at == all_.begin() ? std::next(at) : all_.begin());
    }
    // The same, unless it is not remembered.
    void saved_again(const std::string& name, entry what) {
        const base::guard lock(mutex_);
        if (const auto found = all_.find(name); found != all_.end()) found->second.what = std::move(what);
    }
    // This client has read it.
    void loaded(const std::string& name, std::int64_t version) {
        const base::guard lock(mutex_);
        if (const auto found = all_.find(name); found != all_.end())
            found->second.ours = found->second.what.version == version;
    }

  private:
    static constexpr std::size_t most = 4'096;
    struct place {
        entry what;
        bool ours = false;  // nobody else had written it when it was read last
    };

    mutable base::mutex mutex_;
    std::unordered_map<std::string, place> all_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::sql_backend
