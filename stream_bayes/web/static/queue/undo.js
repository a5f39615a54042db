// @ts-check
// Undo: reopens an answer to be corrected, or a mail that was skipped.

import { api, requestPath } from "../core/api.js";

/** @param {{place: any, labeller: string, skipped?: boolean}} own @returns {Promise<any>} */
export async function reopened({ place, labeller, skipped }) {
  if (!skipped) return api.post(requestPath(place, "reopen"), { labeller });
  const lease = await api.post(requestPath(place, "hold"), { labeller });
  const question = await api.get(`api/requests/${place.partition}/${place.offset}`);
  return { ...question, lease_seconds: lease.seconds };
}
