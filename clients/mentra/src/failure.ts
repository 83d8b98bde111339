/** Something that did not work, in words for the wearer. `kind`: of the gateway's problem, where it is one. */
export class Failure extends Error {
  constructor(
    readonly words: string,
    readonly kind = "",
  ) {
    super(words);
  }
}
