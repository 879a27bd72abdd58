// Flushes and fences that a defect leaves without consequence, each with its argument. The lines
// are those of the headers as they are; a test compares them with the code that they quote.
#include <tests/catalogue/redundancies.hpp>

#include <array>

namespace outlast::verify {
namespace {

constexpr std::array arguments = {
    redundancy{"chain.hpp:181 flush", "here.before->compare_exchange(expected, link(fresh)",
               "the flush of a failed compare-and-swap: what it found is not used, the insertion "
               "starts over and its walk loads the link again"},
    redundancy{"chain.hpp:196 flush", "here.at->next.load(role::expect)",
               "the flush of the load: if the link is marked the erasure starts over and loads it "
               "again, else its compare-and-swap is on this very word and flushes it or fails"},
    redundancy{"chain.hpp:233 flush", "here.at->next.load(role::expect)",
               "the flush of the load: if the link is marked the replacement starts over and loads "
               "it again, else its compare-and-swap is on this very word and flushes it or fails"},
    redundancy{
        "chain.hpp:199 flush", "next.with(deleted), role::mark",
        "the flush of a failed compare-and-swap: what it found is not used, the erasure starts "
        "over and its walk loads the link again"},
    redundancy{"chain.hpp:240 flush", "replacing, role::replace",
               "the flush of a failed compare-and-swap: what it found is not used, the replacement "
               "starts over and its walk loads the link again"},
    redundancy{"chain.hpp:199/1 fence", "next.with(deleted), role::mark",
               "before the mark: it says something about its node alone, and where the link to the "
               "node is lost the crash has undone an insertion and an erasure that both had not "
               "answered"},
    redundancy{
        "chain.hpp:345/1 fence late", "after, role::tidy",
        "before the unlinking: an unlinking that outlives the mark completes an erasure that "
        "had not answered; a replacement is durable before the mark that names it; what the "
        "operation answers is fenced in any case, since late is before the answer"},
    redundancy{
        "harris_list.hpp:218/1 fence", "found->value.cell.store(value",
        "before the value: it says something about its node alone, and where the link to the "
        "node is lost the crash has undone an insertion and an update that both had not "
        "answered"},
    redundancy{
        "harris_list.hpp:287 flush late", "domain::persist<D>(&stored(), sizeof(root_block))",
        "creating: the same thread flushes and fences once more, in publish_root, before the "
        "root that names the block is live"},
    redundancy{
        "harris_list.hpp:287 fence", "domain::persist<D>(&stored(), sizeof(root_block))",
        "creating: the same thread flushes and fences once more, in publish_root, before the "
        "root that names the block is live"},
    redundancy{"harris_list.hpp:269 flush late",
               "domain::persist<D>(&stored(), sizeof(root_block))",
               "closing: the same thread then flushes the occupancy of the blocks, the root's own "
               "among them, and fences before the root is marked as saved"},
    redundancy{"harris_list.hpp:269 fence", "domain::persist<D>(&stored(), sizeof(root_block))",
               "closing: the same thread then flushes the occupancy of the blocks, the root's own "
               "among them, and fences before the root is marked as saved"},
    redundancy{"external_tree.hpp:194 flush", "compare_exchange(expected, here.at, role::flag)",
               "the flush of a failed compare-and-swap: what it found is not used, the erasure "
               "starts over and its way loads the edge again"},
    redundancy{"external_tree.hpp:226 flush", "compare_exchange(expected, replacing",
               "the flush of a failed compare-and-swap: what it found is not used, the replacement "
               "starts over and its way loads the edge again"},
    redundancy{"external_tree.hpp:392 flush", "compare_exchange(expected, fresh.edge_to()",
               "the flush of a failed compare-and-swap: what it found is not used, the insertion "
               "starts over and its way loads the edge again"},
    redundancy{"external_tree.hpp:408 flush", "compare_exchange(expected, parent.edge_to()",
               "the flush of a failed compare-and-swap: what it found is not used, the insertion "
               "starts over and its way loads the edge again"},
    redundancy{"external_tree.hpp:443/1 fence late", "stays.without(tagged), role::tidy",
               "before the taking out: the tag says that what it completes is durable; what the "
               "operation answers is fenced in any case, since late is before the answer"},
    redundancy{"external_tree_recovery.hpp:198 flush", "const edge first = root.load()",
               "recovery runs alone: what it loads is what the media hold, or what it stored and "
               "flushed itself"},
    redundancy{"external_tree_recovery.hpp:116 flush", "edge at = link->load()",
               "recovery runs alone: what it loads is what the media hold, or what it stored and "
               "flushed itself"},
    redundancy{"external_tree_recovery.hpp:121 flush", "at = link->load()",
               "recovery runs alone: what it loads is what the media hold, or what it stored and "
               "flushed itself"},
    redundancy{"external_tree_recovery.hpp:236 flush", "const edge at = parts_[i].from->load()",
               "recovery runs alone: what it loads is what the media hold, or what it stored and "
               "flushed itself"},
    redundancy{"external_tree_recovery.hpp:101 flush", "const edge last = root.load()",
               "recovery runs alone: what it loads is what the media hold, or what it stored and "
               "flushed itself"},
    redundancy{"external_tree_recovery.hpp:140/1 fence", "from.named_by->store(stays",
               "before the store: recovery runs alone, and its stores depend on the image alone"},
    redundancy{"external_tree_recovery.hpp:103/1 fence",
               "root.store(edge{}, durable::role::unlink)",
               "before the store: recovery runs alone, and its stores depend on the image alone"},
    redundancy{
        "external_tree_recovery.hpp:255 fence", "domain::fence<D>();  // for the flushes",
        "one thread repairs all in the simulator, and free_unlinked() fences before anything "
        "is freed; where several do, each waits here for its own flushes"},
    redundancy{
        "natarajan_tree.hpp:268 flush late", "domain::persist<D>(&stored(), sizeof(root_block))",
        "creating: the same thread flushes and fences once more, in publish_root, before the "
        "root that names the block is live"},
    redundancy{
        "natarajan_tree.hpp:268 fence", "domain::persist<D>(&stored(), sizeof(root_block))",
        "creating: the same thread flushes and fences once more, in publish_root, before the "
        "root that names the block is live"},
    redundancy{"natarajan_tree.hpp:250 flush late",
               "domain::persist<D>(&stored(), sizeof(root_block))",
               "closing: the same thread then flushes the occupancy of the blocks, the root's own "
               "among them, and fences before the root is marked as saved"},
    redundancy{"natarajan_tree.hpp:250 fence", "domain::persist<D>(&stored(), sizeof(root_block))",
               "closing: the same thread then flushes the occupancy of the blocks, the root's own "
               "among them, and fences before the root is marked as saved"},
    redundancy{
        "skiplist.hpp:330/1 fence", "found->value.cell.store(value",
        "before the value: it says something about its node alone, and where the link to the "
        "node is lost the crash has undone an insertion and an update that both had not "
        "answered"},
    redundancy{
        "skiplist.hpp:421 fence", "domain::persist<D>(&stored(), sizeof(root_block))",
        "creating: the same thread flushes and fences once more, in publish_root, before the "
        "root that names the block is live"},
    redundancy{"skiplist.hpp:397 fence", "domain::persist<D>(&stored(), sizeof(root_block))",
               "closing: the same thread then flushes the occupancy of the blocks, the root's own "
               "among them, and fences before the root is marked as saved"},
    redundancy{
        "tower_index.hpp:203 flush", "node.next.load(durable::role::index)",
        "whether a node is alive decides where the walk begins, and any start does: the walk "
        "loads the link of the chosen one again"},
    redundancy{
        "michael_scott_queue.hpp:93/1 fence", "expected, marked, durable::role::mark",
        "before the mark: the node in front is taken, durably, before the head names it; and "
        "where the link to the node is lost, so is a push that had not answered, of a value "
        "that somebody has"},
    redundancy{"michael_scott_queue.hpp:93 flush", "expected, marked, durable::role::mark",
               "the flush of a failed compare-and-swap: what it found is not used, the pop starts "
               "over and loads the link again"},
    redundancy{"michael_scott_queue.hpp:183 flush", "next, to_fresh, durable::role::link",
               "the flush of a failed compare-and-swap: what it found is not used, the push starts "
               "over and loads the link again"},
    redundancy{"michael_scott_queue.hpp:174 flush", "tail().load(durable::role::index)",
               "the flush of the tail: no recovery reads what the media hold of it; that the link "
               "to the node which it names is durable comes before the tail names it"},
    redundancy{"michael_scott_queue.hpp:213 flush", "tail().load(durable::role::index)",
               "the flush of the tail: no recovery reads what the media hold of it"},
    redundancy{"michael_scott_queue.hpp:233 flush", "link(to), durable::role::index",
               "the flush after a failed compare-and-swap on the tail: no recovery reads what the "
               "media hold of it"},
    redundancy{
        "michael_scott_queue.hpp:233/2 flush", "link(to), durable::role::index",
        "the flush of the new tail: no recovery reads what the media hold of it, and a clean "
        "close flushes the root block"},
    redundancy{
        "michael_scott_queue.hpp:233/2 fence", "link(to), durable::role::index",
        "behind the new tail: no recovery reads what the media hold of it, and a clean close "
        "flushes the root block"},
    redundancy{"sequence_session.hpp:112 fence", "domain::persist<D>(&stored(), sizeof(Block))",
               "closing: the same thread then flushes the occupancy of the blocks, the root's own "
               "among them, and fences before the root is marked as saved"},
    redundancy{
        "sequence_session.hpp:151 fence", "domain::persist<D>(&stored(), sizeof(Block))",
        "creating: the same thread flushes and fences once more, in publish_root, before the "
        "root that names the block is live"},
    redundancy{"stack.hpp:79/1 fence", "first, next, durable::role::unlink",
               "before the pop: it depends on earlier values of its own word, for which its new "
               "value stands, and on nodes that were durable before they were linked"},
    redundancy{
        "stack.hpp:140 flush", "top().load(durable::role::expect)",
        "the flush of the load: the push's compare-and-swap is on this very word and flushes "
        "it or fails"},
    redundancy{
        "stack.hpp:146 flush", "below, link(fresh), durable::role::link",
        "the flush of a failed compare-and-swap: what it found goes into the new node and is "
        "compared with this very word once more"},
    redundancy{"natarajan_tree.hpp:183/1 fence", "found->value.cell.store(value",
               "before the value: it says something about its leaf alone, and where the way to the "
               "leaf is lost the crash has undone an insertion and an update that both had not "
               "answered"},
    redundancy{"fresh_pool.hpp:37 flush late", "domain::persist<D>(base, magic_bytes)",
               "formatting answers nothing: opening goes on and marks the pool dirty, with flushes "
               "and fences of the same thread, before anything is answered"},
    redundancy{"fresh_pool.hpp:37 fence", "domain::persist<D>(base, magic_bytes)",
               "formatting answers nothing: opening goes on and marks the pool dirty, with flushes "
               "and fences of the same thread, before anything is answered"},
    redundancy{"pool_impl.hpp:451 fence", "D::psync();",
               "closing: it completes what its own thread flushed, and the session of a root ends "
               "with a psync behind its last flush, or nothing of it is trusted"},
    redundancy{"root_directory.hpp:178 fence late", "set(entry.state, pool_format::entry_creating)",
               "the store that it falls behind goes to a page that is still free, or to the "
               "block_size of that page's line, which says nothing before the line's word does"},
    redundancy{"root_directory.hpp:215 flush",
               "domain::persist<D>(&entry, pool_format::line_bytes)",
               "object, check word and state share a line; the state is stored with release, which "
               "stays behind earlier stores to its line, and its own flush covers all three"},
    redundancy{"root_directory.hpp:215 fence",
               "domain::persist<D>(&entry, pool_format::line_bytes)",
               "object, check word and state share a line; the state is stored with release, which "
               "stays behind earlier stores to its line, and its own flush covers all three"},
    redundancy{"root_directory.hpp:238 flush", "set(entry.occupancy_valid, ",
               "lost, the mark costs a recovery; late, it still comes before what the next "
               "attaching, dropping or creating stores to the same line"},
    redundancy{"root_directory.hpp:238 fence", "set(entry.occupancy_valid, ",
               "lost, the mark costs a recovery; late, it still comes before what the next "
               "attaching, dropping or creating stores to the same line"},
    redundancy{"region_table.hpp:96 fence late", "set(entries_[index].state, ",
               "the store that it falls behind goes to a page that is still free, or to the "
               "block_size of that page's line, which says nothing before the line's word does"},
    redundancy{"region_table.hpp:148 flush", "set(entries_[index].state, ",
               "undoing a reservation: found as being created, the entry is removed at the next "
               "opening; reserved again, it gets the same mark in the same word"},
    redundancy{"region_table.hpp:148 fence", "set(entries_[index].state, ",
               "undoing a reservation: found as being created, the entry is removed at the next "
               "opening; reserved again, it gets the same mark in the same word"},
};

}  // namespace

std::span<const redundancy> redundancies() noexcept { return arguments; }

const redundancy* redundancy_of(const mutation& at) {
  const std::string name = to_text(at);
  for (const redundancy& each : arguments) {
    const bool whole_word = name.size() == each.mutant.size() || name[each.mutant.size()] == ' ';
    if (name.starts_with(each.mutant) && whole_word) return &each;
  }
  return nullptr;
}

}  // namespace outlast::verify
