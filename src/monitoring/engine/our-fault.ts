/** A check could not be made for a reason on our side. It says nothing about the monitor, so nothing is recorded. */
export class OurFault extends Error {}
