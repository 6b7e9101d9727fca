package patch

// Checksum returns the Internet checksum of a packet after its bytes from at on have
// changed, where at counts from the first byte that is summed. That is what
// bpf_l4_csum_replace wants a difference for.
func Checksum(sum uint16, at int, old, fresh []byte) uint16 {
	// One's complement: to take away is to add the complement.
	total := uint32(^sum)
	for i := range old {
		shift := 8
		if (at+i)%2 == 1 {
			shift = 0
		}
		total += uint32(fresh[i]) << shift
		total += uint32(^(uint16(old[i]) << shift))
		total = total&0xffff + total>>16
	}
	total = total&0xffff + total>>16
	return ^uint16(total)
}
