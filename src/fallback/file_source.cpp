#include "fallback/file_source.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace holdfast::fallback {

namespace {

constexpr std::chrono::milliseconds read_every{5'000};
// A bad text may be half of a good one: its writer gets this long to write the other half.
constexpr std::chrono::milliseconds second_look{250};

constexpr std::uint32_t interesting = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE |
                                      IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB;

std::string directory_of(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

bool is_bad(const std::string& text) {
    return std::holds_alternative<bad_document>(read_document(text, std::nullopt));
}

std::string words_of_errno() { return std::generic_category().message(errno); }

}  // namespace

file_source::file_source(io::reactor& on, std::string path, handler tell)
    : reactor_(on), path_(std::move(path)), directory_(directory_of(path_)), tell_(std::move(tell)) {
    reactor_.run_and_wait([this] {
        watch_directory();
        look();
        if (half_) look();  // there is no last good one to keep meanwhile
    });
}

file_source::~file_source() {
    reactor_.run_and_wait([this] {
        if (timer_.serial != 0) (void)reactor_.cancel(timer_);
        if (inotify_) reactor_.unwatch(inotify_->get());
        inotify_.reset();
    });
}

// Without inotify the file is read every five seconds all the same.
void file_source::watch_directory() {
    if (!inotify_) {
        base::owned_fd made{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
        if (!made) return;
        reactor_.watch(made.get(), EPOLLIN, [this](std::uint32_t) { on_change(); });
        inotify_ = std::move(made);
    }
    if (!is_watched_)
        is_watched_ = ::inotify_add_watch(inotify_->get(), directory_.c_str(), interesting) >= 0;
}

void file_source::on_change() {
    alignas(inotify_event) std::array<char, 4096> events;
    for (;;) {
        const auto n = ::read(inotify_->get(), events.data(), events.size());
        if (n <= 0) break;
        for (ssize_t at = 0; at < n;) {
            const auto* const one = reinterpret_cast<const inotify_event*>(events.data() + at);
            if ((one->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)) != 0) is_watched_ = false;
            at += static_cast<ssize_t>(sizeof(inotify_event) + one->len);
        }
    }
    look();
}

void file_source::look_in(std::chrono::milliseconds pause) {
    if (timer_.serial != 0) (void)reactor_.cancel(timer_);
    timer_ = reactor_.at(boot_clock::now() + pause, [this] {
        timer_ = {};
        watch_directory();  // the directory itself may have been replaced
        look();
    });
}

void file_source::look() {
    look_in(read_every);
    const auto read = contents();
    std::optional<told> news;
    if (const auto* const text = std::get_if<std::string>(&read)) {
        if (!filter_.knows(*text) && half_ != *text && is_bad(*text)) {
            half_ = *text;
            return look_in(second_look);
        }
        news = filter_.on_text(*text);
    } else {
        news = filter_.on_unreadable(std::get<unreadable>(read).why);
    }
    half_.reset();
    if (news) tell_(*news);
}

std::variant<std::string, unreadable> file_source::contents() const {
    const base::owned_fd file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    if (!file) return unreadable{"cannot open it: " + words_of_errno()};
    struct stat about {};
    if (::fstat(file.get(), &about) != 0) return unreadable{"cannot read it: " + words_of_errno()};
    if (!S_ISREG(about.st_mode)) return unreadable{"it is no file"};
    if (about.st_uid != 0 && about.st_uid != ::geteuid())
        return unreadable{"it must belong to root or to this user"};
    if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0) return unreadable{"others may write it: chmod go-w"};
    std::string text(largest_document + 1, '\0');  // one more: then it is too large, and a bad one
    std::size_t size = 0;
    while (size < text.size()) {
        const auto n = ::read(file.get(), text.data() + size, text.size() - size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return unreadable{"cannot read it: " + words_of_errno()};
        if (n == 0) break;
        size += static_cast<std::size_t>(n);
    }
    text.resize(size);
    return text;
}

}  // namespace holdfast::fallback
