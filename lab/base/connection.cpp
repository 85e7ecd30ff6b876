#include "lab/base/connection.hpp"

#include <hiredis/hiredis.h>
#include <poll.h>

#include <cerrno>

namespace holdfast::lab {

reply::reply(const redisReply& from) {
    switch (from.type) {
        case REDIS_REPLY_NIL: nil_ = true; break;
        case REDIS_REPLY_INTEGER:
            is_number_ = true;
            number_ = from.integer;
            text_ = std::to_string(from.integer);
            break;
        case REDIS_REPLY_ARRAY:
            for (std::size_t i = 0; i < from.elements; ++i) items_.emplace_back(*from.element[i]);
            break;
        default: text_.assign(from.str, from.len);
    }
}

std::string reply::shown() const {
    if (nil_) return "(nil)";
    if (items_.empty()) return text_;
    std::string all;
    for (const auto& item : items_) all += (all.empty() ? "" : " ") + item.shown();
    return all;
}

namespace {

struct free_reply {
    void operator()(redisReply* r) const noexcept { ::freeReplyObject(r); }
};

}  // namespace

void connection::closer::operator()(redisContext* c) const noexcept { ::redisFree(c); }

connection::connection(const std::string& socket, const std::string& password)
    : context_(::redisConnectUnix(socket.c_str())) {
    if (!context_) throw command_failed("out of memory");
    if (context_->err != 0) throw connection_broken(static_cast<const char*>(context_->errstr));
    if (!password.empty()) send({"AUTH", password});
}

reply connection::send(const arguments& command) {
    std::vector<const char*> starts;
    std::vector<std::size_t> lengths;
    for (const auto& one : command) {
        starts.push_back(one.data());
        lengths.push_back(one.size());
    }
    const std::unique_ptr<redisReply, free_reply> answer{static_cast<redisReply*>(
        ::redisCommandArgv(context_.get(), static_cast<int>(starts.size()), starts.data(), lengths.data()))};
    if (!answer) throw connection_broken(static_cast<const char*>(context_->errstr));
    if (answer->type == REDIS_REPLY_ERROR) throw command_failed({answer->str, answer->len});
    return reply{*answer};
}

bool connection::receive(std::chrono::milliseconds at_most) {
    pollfd source{context_->fd, POLLIN, 0};
    int ready = 0;
    do ready = ::poll(&source, 1, static_cast<int>(at_most.count()));
    while (ready < 0 && errno == EINTR);
    if (ready <= 0) return false;
    void* raw = nullptr;
    if (::redisGetReply(context_.get(), &raw) != REDIS_OK)
        throw connection_broken(static_cast<const char*>(context_->errstr));
    const std::unique_ptr<redisReply, free_reply> message{static_cast<redisReply*>(raw)};
    return message != nullptr;
}

}  // namespace holdfast::lab
