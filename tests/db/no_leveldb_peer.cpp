#include <tests/db/leveldb_peer.hpp>

namespace outlast::test {

struct leveldb_peer::inside {};

bool leveldb_peer::is_there() noexcept { return false; }

leveldb_peer::leveldb_peer(const std::string&, bool, const db_steps::content&) {}

leveldb_peer::~leveldb_peer() = default;

std::optional<std::string> leveldb_peer::apply(const db_steps::step&) { return std::nullopt; }

}  // namespace outlast::test
