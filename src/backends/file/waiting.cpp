#include "backends/file/waiting.hpp"

#include <utility>

namespace holdfast::file_backend {

lock_file waiting_files::take(const owner_id& owner) {
    base::guard lock(mutex_);
    const auto it = files_.find(owner.str());
    if (it == files_.end()) return {};
    auto at = std::move(it->second);
    files_.erase(it);
    return at;
}

void waiting_files::keep(const owner_id& owner, lock_file at) {
    base::guard lock(mutex_);
    files_.insert_or_assign(owner.str(), std::move(at));
}

void waiting_files::close() {
    closes_.close();
    std::map<std::string, lock_file> all;
    base::guard lock(mutex_);
    all.swap(files_);
}

waiting_handle::waiting_handle(std::unique_ptr<backend::watch_handle> entry,
                               std::shared_ptr<waiting_files> files, lock_name name, owner_id owner)
    : entry_(std::move(entry)), files_(std::move(files)), name_(std::move(name)), owner_(std::move(owner)) {}

waiting_handle::~waiting_handle() {
    entry_.reset();
    files_->drop(owner_);
    if (watches_closes) files_->closes().remove(name_);
}

}  // namespace holdfast::file_backend
