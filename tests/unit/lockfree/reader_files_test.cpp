// Goal: the file of a pool's readers is created, recognised and refused as it must be, and readers
// without the necessary permissions, locks or options get clear errors. Method: real processes.
#include <outlast/base/error.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/domain/logged_file.hpp>
#include <outlast/lockfree/reader.hpp>
#include <outlast/pool/any_domain.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/pool_reader.hpp>
#include <tests/support/reading_processes.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

namespace outlast {
namespace {

using test::eventually;
using test::failure_of;
using test::fill;
using test::number;
using test::process;
using test::sentence_of;
using test::shared_memory;
using test::temp_directory;
using test::with_readers;

using table = lockfree::hash_table<number, number>;

TEST(reader_files, are_refused_by_a_writer_without_the_option) {
  temp_directory directory;
  const std::string path = directory.file("p");
  pool_options none = with_readers(0);
  {
    auto pool = pool::create(path, none);
    table map(pool, "map");
    pool.close();
  }
  const std::string said = sentence_of([&] { pool_reader reader(path); });
  EXPECT_NE(said.find("pool_options::max_readers"), std::string::npos) << said;
  pool::open(path, with_readers()).close();
  pool_reader reader(path);
  const lockfree::reader<table> view(reader, "map");
  EXPECT_FALSE(view.contains(1));
  process writer([&] {
    pool::open(path, none).close();
    return 0;
  });
  EXPECT_EQ(writer.end(), 0);
  EXPECT_EQ(failure_of([&] { (void)view.contains(1); }), errc::refused);
}

TEST(reader_files, cannot_be_used_in_a_child_and_their_locks_stay_with_the_parent) {
  temp_directory directory;
  const std::string path = directory.file("p");
  {
    auto pool = pool::create(path, with_readers(1));
    table map(pool, "map");
    fill(map);
    pool.close();
  }
  shared_memory shared;
  auto reader = std::make_unique<pool_reader>(path);
  auto view = std::make_unique<lockfree::reader<table>>(*reader, "map");
  EXPECT_TRUE(view->contains(1));
  process child([&] {
    if (failure_of([&] { (void)view->contains(1); }) != errc::forked) return 1;
    ++shared->ready;
    (void)eventually([&] { return shared->stop.load(); });
    view.reset();
    reader.reset();
    return 0;
  });
  ASSERT_TRUE(eventually([&] { return shared->ready == 1; }));
  EXPECT_TRUE(view->contains(1));
  view.reset();
  reader.reset();  // the only slot is free, although the child lives
  pool_reader again(path);
  EXPECT_TRUE(lockfree::reader<table>(again, "map").contains(1));
  shared->stop = true;
  EXPECT_EQ(child.end(), 0);
}

TEST(reader_files, of_another_user_need_permissions) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
  temp_directory directory;
  const std::string path = directory.file("p");
  auto pool = pool::create(path, with_readers());
  table map(pool, "map");
  ASSERT_EQ(::chmod(path.substr(0, path.rfind('/')).c_str(), 0755), 0);
  const auto opened_by_other = [&] {
    process other([&] {
      if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 9;
      const std::string said = sentence_of([&] { pool_reader reader(path); });
      if (said.empty()) return 0;
      if (said.find("permission to read the pool's file") != std::string::npos) return 1;
      return said.find("permission to read and write it") != std::string::npos ? 2 : 3;
    });
    return other.end();
  };
  const std::string slots = path + ".readers";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(::chmod(slots.c_str(), 0600), 0);
  EXPECT_EQ(opened_by_other(), 1);
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(opened_by_other(), 2);
  ASSERT_EQ(::chmod(slots.c_str(), 0666), 0);
  EXPECT_EQ(opened_by_other(), 0);
}

TEST(reader_files, have_a_file_with_the_permissions_of_the_pool) {
  temp_directory directory;
  const std::string path = directory.file("p");
  pool_options options = with_readers();
  options.file_mode = 0640;
  auto pool = pool::create(path, options);
  struct stat status{};
  ASSERT_EQ(::stat((path + ".readers").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(reader_files, need_locks_of_open_files) {
  temp_directory directory;
  const std::string path = directory.file("p");
  pool_detail::test_hooks().file_locks_fail = EINVAL;
  const std::string said = sentence_of([&] { (void)pool::create(path, with_readers()); });
  pool_detail::test_hooks().file_locks_fail = 0;
  EXPECT_NE(said.find("F_OFD_SETLK"), std::string::npos) << said;
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "a refused creation leaves no pool";
  pool_detail::test_hooks().file_system = 0x6969;  // NFS
  const std::string network = sentence_of([&] { (void)pool::create(path, with_readers()); });
  pool_detail::test_hooks().file_system.reset();
  EXPECT_NE(network.find("share memory and locks"), std::string::npos) << network;
}

TEST(reader_files, do_not_replace_a_file_of_others) {
  temp_directory directory;
  const std::string path = directory.file("p");
  const std::string slots = path + ".readers";
  std::ofstream(slots)
      << "a list of persons, which another program has written here, and more of it";
  EXPECT_EQ(failure_of([&] { (void)pool::create(path, with_readers()); }), errc::refused);
  std::string kept;
  std::ifstream(slots) >> kept;
  EXPECT_EQ(kept, "a");
  pool::create(path, with_readers(0)).close();  // it is not in the way of others
  ASSERT_EQ(::truncate(slots.c_str(), 0), 0);
  EXPECT_EQ(failure_of([&] { (void)pool::open(path, with_readers()); }), errc::refused);
  EXPECT_EQ(failure_of([&] { pool_reader reader(path); }), errc::refused);
  ASSERT_EQ(::unlink(slots.c_str()), 0);
  ASSERT_EQ(::mkfifo(slots.c_str(), 0600), 0);
  EXPECT_EQ(failure_of([&] { (void)pool::open(path, with_readers()); }), errc::refused);
  pool::open(path, with_readers(0)).close();
  ASSERT_EQ(::unlink(slots.c_str()), 0);
  ASSERT_EQ(::mkdir(slots.c_str(), 0700), 0);
  EXPECT_EQ(failure_of([&] { (void)pool::open(path, with_readers()); }), errc::not_a_pool);
  pool::open(path, with_readers(0)).close();
  ASSERT_EQ(::rmdir(slots.c_str()), 0);
  const std::string long_name = directory.file(std::string(250, 'p'));
  pool::create(long_name, with_readers(0)).close();
}

TEST(reader_files, have_a_file_that_a_new_pool_takes_over_and_that_is_repaired) {
  temp_directory directory;
  const std::string path = directory.file("p");
  pool::create(path, with_readers()).close();
  ASSERT_EQ(::unlink(path.c_str()), 0);
  {
    auto pool = pool::create(path, with_readers());
    table map(pool, "map");
    fill(map);
    pool.close();
  }
  ASSERT_EQ(::truncate((path + ".readers").c_str(), 100), 0);
  EXPECT_EQ(failure_of([&] { pool_reader reader(path); }), errc::truncated);
  pool::open(path, with_readers(0)).close();  // it is not in the way of others
  pool::open(path, with_readers(100)).close();
  pool_reader reader(path);
  EXPECT_TRUE(lockfree::reader<table>(reader, "map").contains(1));
}

TEST(reader_files, are_refused_where_they_cannot_be_right) {
  temp_directory directory;
  const std::string path = directory.file("p");
  pool_options old = with_readers();
  old.format_version = 1;
  EXPECT_EQ(failure_of([&] { (void)pool::create(path, old); }), errc::refused);
  EXPECT_EQ(failure_of([&] { (void)pool::create(path, with_readers(5000)); }), errc::bad_argument);
  EXPECT_EQ(
      failure_of([&] { (void)basic_pool<domain::logged_file>::create(path, with_readers()); }),
      errc::refused);
  EXPECT_EQ(failure_of([&] { (void)basic_pool<domain::file>::create(path, with_readers()); }),
            errc::refused);
  auto pool = pool::create(path, with_readers());
  EXPECT_EQ(failure_of([&] { basic_pool_reader<domain::adr> reader(path); }), errc::address_taken)
      << "the process has the pool";
  process other([&] {
    const auto refused = failure_of([&] { basic_pool_reader<domain::adr> reader(path); });
    return refused == errc::refused ? 0 : 1;
  });
  EXPECT_EQ(other.end(), 0);
  EXPECT_EQ(failure_of([&] { (void)pool::open_reader(directory.file("none")); }), errc::not_found);
}

}  // namespace
}  // namespace outlast
