// LevelDB's Iterator: cleanup functions, and iterators that are empty or report an error.
#include <outlast/db/iterator.hpp>

#include <utility>

namespace OUTLAST_DB_NAMESPACE {

Iterator::Iterator() = default;

Iterator::~Iterator() {
  if (first_.function == nullptr) return;
  first_.function(first_.arg1, first_.arg2);
  for (cleanup* each = first_.next; each != nullptr;) {
    each->function(each->arg1, each->arg2);
    cleanup* const done = each;
    each = each->next;
    delete done;
  }
}

void Iterator::RegisterCleanup(CleanupFunction function, void* arg1, void* arg2) {
  if (function == nullptr) return;
  if (first_.function == nullptr) {
    first_ = {function, arg1, arg2, nullptr};
  } else {
    first_.next = new cleanup{function, arg1, arg2, first_.next};
  }
}

namespace {

class nothing final : public Iterator {
 public:
  explicit nothing(Status status) : status_(std::move(status)) {}

  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(const Slice&) override {}
  void Next() override {}
  void Prev() override {}
  Slice key() const override { return {}; }
  Slice value() const override { return {}; }
  Status status() const override { return status_; }

 private:
  Status status_;
};

}  // namespace

Iterator* NewEmptyIterator() { return new nothing(Status::OK()); }
Iterator* NewErrorIterator(const Status& status) { return new nothing(status); }

}  // namespace OUTLAST_DB_NAMESPACE
