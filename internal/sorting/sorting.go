// Package sorting sorts lists of structs.
//
// slices.SortFunc is compiled again for each type of struct, 12 KB of code each time and as much again of tables for it; over all lists of
// the program that was a megabyte. Pointers share one copy, whatever they point to, so these functions sort pointers to the elements. They
// are for structs of some size; lists of numbers, strings and pointers are sorted by package slices.
package sorting

import "slices"

// By sorts a list as slices.SortFunc does: elements that compare as equal may change places.
func By[T any](list []T, compare func(a, b T) int) {
	place(list, func(all []*T) {
		slices.SortFunc(all, func(a, b *T) int { return compare(*a, *b) })
	})
}

// StablyBy sorts a list as slices.SortStableFunc does: elements that compare as equal stay in their order.
func StablyBy[T any](list []T, compare func(a, b T) int) {
	place(list, func(all []*T) {
		slices.SortStableFunc(all, func(a, b *T) int { return compare(*a, *b) })
	})
}

// place puts the elements of a list where sort puts the pointers to them.
func place[T any](list []T, sort func([]*T)) {
	if len(list) < 2 {
		return
	}
	from := slices.Clone(list)
	all := make([]*T, len(from))
	for i := range from {
		all[i] = &from[i]
	}
	sort(all)
	for i, element := range all {
		list[i] = *element
	}
}
