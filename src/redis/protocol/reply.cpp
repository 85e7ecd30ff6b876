#include "redis/protocol/reply.hpp"

#include <hiredis/hiredis.h>
#include <hiredis/read.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace holdfast::redis {

reply reply::of(std::int64_t n) {
    reply r;
    r.type_ = type::integer;
    r.integer_ = n;
    return r;
}

reply reply::of(std::string text) {
    reply r;
    r.type_ = type::text;
    r.text_ = std::move(text);
    return r;
}

reply reply::of_error(std::string text) {
    reply r;
    r.type_ = type::error;
    r.text_ = std::move(text);
    return r;
}

reply reply::of(std::vector<reply> items) {
    reply r;
    r.type_ = type::array;
    r.items_ = std::move(items);
    return r;
}

// Makes replies in place: the reader's objects are pointers into the tree under `root`, which owns them all,
// so the reader has nothing to free.
struct reply_builder {
    reply root;
    size_caps caps;
    std::size_t elements_left;
    std::string why;  // set when a callback refused to go on

    explicit reply_builder(const size_caps& c) : caps(c), elements_left(c.elements) {}

    void take(reply& out) {
        elements_left = caps.elements;
        out = std::move(root);
        root.type_ = reply::type::nil;
        root.integer_ = 0;
        root.text_.clear();
        root.items_.clear();
    }

    static reply_builder& of(const redisReadTask* task) {
        return *static_cast<reply_builder*>(task->privdata);
    }

    // The place of the task's object. An array grows as its elements arrive, whatever size the server
    // announced. That moves earlier elements, but those are complete and no task points at them.
    static reply* place(const redisReadTask* task) {
        if (task->parent == nullptr) return &of(task).root;
        auto& siblings = static_cast<reply*>(task->parent->obj)->items_;
        return &siblings.emplace_back();
    }

    void* refuse(const char* because) {
        why = because;
        return nullptr;
    }

    // Runs `fill` on the task's place. Nothing may be thrown through hiredis.
    template <class F>
    static void* make(const redisReadTask* task, F fill) noexcept {
        try {
            reply* r = place(task);
            fill(*r);
            return r;
        } catch (...) {
            return nullptr;  // the reader reports it as out of memory
        }
    }

    static void* on_string(const redisReadTask* task, char* bytes, std::size_t size) {
        switch (task->type) {
            case REDIS_REPLY_STRING:
            case REDIS_REPLY_STATUS:
            case REDIS_REPLY_ERROR: break;
            default: return of(task).refuse("a type of reply that was not asked for");
        }
        return make(task, [&](reply& r) {
            r.type_ = task->type == REDIS_REPLY_ERROR ? reply::type::error : reply::type::text;
            r.text_.assign(bytes, size);
        });
    }

    static void* on_array(const redisReadTask* task, std::size_t elements) {
        auto& self = of(task);
        if (task->type != REDIS_REPLY_ARRAY) return self.refuse("a type of reply that was not asked for");
        if (elements > self.elements_left) return self.refuse("an array of more elements than we take");
        self.elements_left -= elements;
        return make(task, [&](reply& r) {
            r.type_ = reply::type::array;
            r.items_.reserve(std::min<std::size_t>(elements, 64));
        });
    }

    static void* on_integer(const redisReadTask* task, long long n) {
        return make(task, [&](reply& r) {
            r.type_ = reply::type::integer;
            r.integer_ = n;
        });
    }

    static void* on_nil(const redisReadTask* task) {
        return make(task, [](reply&) {});
    }

    static void on_free(void*) {}

#if HIREDIS_MAJOR >= 1
    static void* on_array_of_size(const redisReadTask* task, std::size_t n) { return on_array(task, n); }
    static void* on_double(const redisReadTask* task, double, char*, std::size_t) {
        return of(task).refuse("a type of reply that was not asked for");
    }
    static void* on_bool(const redisReadTask* task, int) {
        return of(task).refuse("a type of reply that was not asked for");
    }
#else
    static void* on_array_of_size(const redisReadTask* task, int n) {
        return on_array(task, static_cast<std::size_t>(std::max(n, 0)));
    }
#endif

    static redisReplyObjectFunctions functions() {
        redisReplyObjectFunctions f{};
        f.createString = on_string;
        f.createArray = on_array_of_size;
        f.createInteger = on_integer;
        f.createNil = on_nil;
        f.freeObject = on_free;
#if HIREDIS_MAJOR >= 1
        f.createDouble = on_double;
        f.createBool = on_bool;
#endif
        return f;
    }
};

namespace {

// A longer line (a status, an error, a number, a length) is no reply.
constexpr std::size_t longest_line = 64 * 1024;
// The reader frees an empty buffer that is larger.
constexpr std::size_t kept_buffer = 64 * 1024;

const redisReadTask& current_task(const redisReader& r) {
#if HIREDIS_MAJOR >= 1
    return *r.task[r.ridx];
#else
    return r.rstack[r.ridx];
#endif
}

}  // namespace

struct parser::state {
    redisReplyObjectFunctions functions = reply_builder::functions();
    reply_builder builder;
    std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader;

    explicit state(const size_caps& caps)
        : builder(caps), reader(redisReaderCreateWithFunctions(&functions), &redisReaderFree) {
        if (!reader) throw std::bad_alloc{};
        reader->maxbuf = kept_buffer;
        reader->privdata = &builder;
    }

    // The reader waits for bytes. Returns why we would never accept what it waits for, or null.
    [[nodiscard]] const char* impossible() const {
        const redisReader& r = *reader;
        if (r.ridx < 0) return nullptr;
        const std::string_view unread{r.buf + r.pos, r.len - r.pos};
        if (current_task(r).type == REDIS_REPLY_STRING) {
            if (const auto end = unread.substr(0, longest_line).find("\r\n"); end != std::string_view::npos) {
                std::uint64_t size = 0;
                const auto [p, ec] = std::from_chars(unread.data(), unread.data() + end, size);
                if (ec != std::errc{} || p != unread.data() + end) return "a length that is no number";
                return size > builder.caps.bulk_bytes ? "a string longer than we take" : nullptr;
            }
        }
        return unread.size() > longest_line ? "a line that does not end" : nullptr;
    }
};

parser::parser(const size_caps& caps) : state_(std::make_unique<state>(caps)) {}
parser::~parser() = default;

void parser::feed(std::string_view bytes) {
    if (!error_.empty()) return;
    if (redisReaderFeed(state_->reader.get(), bytes.data(), bytes.size()) != REDIS_OK)
        error_ = "out of memory for replies";
}

parser::result parser::next(reply& out) {
    if (!error_.empty()) return result::error;
    if (state_->reader->pos == state_->reader->len) return result::need_more;
    void* root = nullptr;
    if (redisReaderGetReply(state_->reader.get(), &root) != REDIS_OK) {
        error_ = state_->builder.why.empty() ? state_->reader->errstr : state_->builder.why;
        return result::error;
    }
    if (root == nullptr) {
        if (const char* why = state_->impossible()) {
            error_ = why;
            return result::error;
        }
        return result::need_more;
    }
    state_->builder.take(out);
    return result::got;
}

}  // namespace holdfast::redis
