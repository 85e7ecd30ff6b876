// An SQL database in a file, as the processes of the lab use it.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct sqlite3;

namespace holdfast::lab {

struct sql_answer {
    int rows = 0;                      // the rows written
    std::vector<std::string> columns;  // of the first row read; empty: no row
    std::string sent;                  // the statement with its values
};

class sql_failed : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Each statement is its own transaction. Thread safety: none. All functions throw sql_failed.
class database {
  public:
    explicit database(const std::string& file);

    // ?1, ?2... are the values. now_ms() is the database's clock.
    sql_answer run(const std::string& statement, const std::vector<std::string>& values = {});

  private:
    struct closer {
        void operator()(sqlite3* db) const noexcept;
    };
    std::unique_ptr<sqlite3, closer> db_;
};

}  // namespace holdfast::lab
