// Some views of arrays that have numbers of each view: projections, tables of rays.
//
// views: their numbers, ascending. PICK puts them beside each other, PUT takes them from there; without, they keep their places. Arrays
// hold views from `first` on.

// Work-items: (numbers a view, count views), from views[begin] on.
__kernel void views_copy(__global const uint* restrict from, __global const int* restrict views,
                         __global uint* restrict to, ulong numbers, int begin, int count, int first) {
  const size_t number = get_global_id(0), place = get_global_id(1);
  if (number >= numbers || place >= count) return;
  const size_t view = views[begin + place] - first;
#ifdef PICK
  to[place * numbers + number] = from[view * numbers + number];
#elif defined(PUT)
  to[view * numbers + number] = from[place * numbers + number];
#else
  to[view * numbers + number] = from[view * numbers + number];
#endif
}
