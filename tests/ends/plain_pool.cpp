// A pool with words that only the test uses.
#include <tests/ends/pool_subject.hpp>

#include <outlast/domain/persist.hpp>

#include <cstring>

namespace outlast::test::ends {
namespace {

template <class D>
class words {
 public:
  using domain_type = D;

  explicit words(basic_pool<D>& in) : in_(in) {
    const attached_root root = in.attach_root("words", "words of a test", 1, true);
    index_ = root.index;
    if (root.state != root_state::fresh) {
      at_ = reinterpret_cast<u64*>(in.base() + root.object_offset);
      return;
    }
    at_ = static_cast<u64*>(in.pages().allocate_run(pool_format::run_kind::large, index_, 1,
                                                    count / 512, count * sizeof(u64)));
    std::memset(static_cast<void*>(at_), 0, count * sizeof(u64));
    domain::persist<D>(at_, count * sizeof(u64));
    in.publish_root(index_, at_);
  }
  ~words() {
    try {
      in_.detach_root(index_, true);
    } catch (const error&) {  // the child of a fork does not
    }
  }
  words(const words&) = delete;
  words& operator=(const words&) = delete;

  void put(u64 key, u64 value) {
    D::write(at_ + key % count, &value, sizeof value);
    domain::persist<D>(at_ + key % count, sizeof value);
  }
  void keep() {}
  [[nodiscard]] std::optional<u64> get(u64 key) const { return at_[key % count]; }
  [[nodiscard]] std::vector<public_call> calls() { return {}; }

 private:
  static constexpr std::size_t count = 512 * 64;  // pages of words

  basic_pool<D>& in_;
  u64* at_ = nullptr;
  std::uint32_t index_ = 0;
};

}  // namespace

std::unique_ptr<subject> make_pool(std::string_view domain) { return on_domain<words>(domain); }

}  // namespace outlast::test::ends
